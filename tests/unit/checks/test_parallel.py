import threading
import time

import pytest

from shakedown.checks.parallel import in_parallel


def test_results_come_in_order_of_the_jobs():
    assert in_parallel(lambda n: time.sleep(0.01 * (3 - n)) or n, range(3), at_once=3) == [0, 1, 2]
    assert in_parallel(str, [], at_once=4) == []


def test_no_more_run_at_once_than_asked_for_and_no_fewer():
    barrier = threading.Barrier(3, timeout=5)  # breaks unless three are inside together
    inside, most = [], []

    def job(n):
        inside.append(n)
        most.append(len(inside))
        barrier.wait()
        inside.remove(n)

    in_parallel(job, range(6), at_once=3)
    assert max(most) <= 3


def test_the_first_error_is_raised_and_later_jobs_are_dropped():
    done = []

    def job(n):
        done.append(n)
        raise KeyError(n)

    with pytest.raises(KeyError, match="0"):
        in_parallel(job, range(50), at_once=1)
    assert done == [0]
