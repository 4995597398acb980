"""Running requests side by side in threads that never hold up an exit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def in_parallel(ask: Callable[[T], R], jobs: Iterable[T], *, at_once: int) -> list[R]:
    """Run ``ask`` over ``jobs`` with ``at_once`` at a time; results in order of the jobs.

    The threads are daemons, unlike those of ``concurrent.futures``: an interrupt must not wait for a request that hangs
    in a broken server.

    Raises:
        BaseException: whatever ``ask`` raised first; jobs not yet begun are dropped.
    """
    todo = list(jobs)
    places = iter(range(len(todo)))
    results: dict[int, R] = {}
    errors: list[BaseException] = []
    taking = threading.Lock()

    def work() -> None:
        while not errors:
            with taking:
                place = next(places, None)
            if place is None:
                return
            try:
                results[place] = ask(todo[place])
            except BaseException as error:  # carried over to the caller's thread, which raises it
                errors.append(error)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(at_once, len(todo)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return [results[place] for place in range(len(todo))]
