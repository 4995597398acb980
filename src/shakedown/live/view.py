"""The view a person watches: a screen that redraws itself on a terminal, plain lines anywhere else."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock
from types import TracebackType
from typing import Self

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from shakedown.domain.progress import CampaignUpdate
from shakedown.live.lines import line
from shakedown.live.screen import screen
from shakedown.live.state import CampaignState

REDRAWS_PER_S = 4


class LiveView:
    """Shows a campaign while it runs; its ``handle`` is what the runner calls with every update.

    Writes to ``console`` alone: give it one on standard error where standard output carries a document. The screen is
    taken away at the end, so that the report stands in its place. ``clock`` gives seconds of the epoch.
    """

    def __init__(self, console: Console, *, clock: Callable[[], float] = time.time) -> None:
        self._console = console
        self._clock = clock
        self._state = CampaignState()
        self._lock = Lock()
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self._console.is_terminal and not self._console.is_dumb_terminal:
            self._live = Live(
                console=self._console,
                get_renderable=self._draw,
                refresh_per_second=REDRAWS_PER_S,
                transient=True,
                # What a library prints must not tear the screen; but with the view on standard error, standard output
                # carries a document and is left alone.
                redirect_stdout=not self._console.stderr,
            )
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def handle(self, update: CampaignUpdate) -> None:
        """Take in one update and show it; on a terminal the next redraw does."""
        with self._lock:
            self._state.apply(update)
            said = line(update, self._state) if self._live is None else None
        if said is not None:
            self._console.print(Text(said), soft_wrap=True)

    def _draw(self) -> RenderableType:
        with self._lock:
            return screen(self._state, self._clock(), self._console.height)
