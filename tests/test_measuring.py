import os
import threading

import pytest

from tests.support.process_use import measure_growth
from tests.support.processor_time import limit_cpu


def test_limit_of_processor_time_counts_what_this_thread_computes() -> None:
    other = threading.Thread(target=sum, args=(range(10_000_000),))
    with limit_cpu(0.01):
        other.start()
        other.join()
    with pytest.raises(AssertionError, match="allowed"), limit_cpu(0.0001):
        sum(range(10_000_000))


def test_growth_is_found_after_the_process_was_larger() -> None:
    if not os.access("/proc/self/clear_refs", os.W_OK):
        pytest.skip("this system doesn't let a process forget its largest size")
    bytearray(200_000_000)

    with measure_growth() as none:
        pass
    # Other threads may give memory back meanwhile, so that a single measurement may be too small.
    growths = [_allocate_and_measure() for _attempt in range(5)]

    assert none.kilobytes < 10_000
    assert 40_000 < max(growths) < 90_000


def test_growth_is_found_after_memory_was_freed() -> None:
    bytearray(31_000_000)  # from now on the C library takes parts of this size from the heap
    parts = [bytearray(20_000_000) for _part in range(10)]
    after = bytes(100_000)  # behind them, so that the heap can't end before them
    del parts

    growths = [_allocate_and_measure() for _attempt in range(5)]

    assert max(growths) > 40_000
    assert len(after) == 100_000


def _allocate_and_measure() -> int:
    with measure_growth() as growth:
        bytearray(50_000_000)
    return growth.kilobytes
