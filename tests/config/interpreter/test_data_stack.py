"""Room for the frames of functions."""

import resource

import pytest

from config.interpreter.data_stack import call_with_room


CALLS = 300
DEPTHS = range(200)  # a chunk ends at some of them, wherever the test begins


def _count_new_pages(depth: int) -> int:
    """Return how many pages of memory the process gets during calls at this depth: a new chunk is at least one."""
    if depth:
        return _count_new_pages(depth - 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(CALLS):
        abs_of(1)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def abs_of(number: int) -> int:
    return number if number > 0 else -number


def test_calls_of_any_depth_take_no_new_memory_each() -> None:
    counts = call_with_room(lambda: [_count_new_pages(depth) for depth in DEPTHS])

    assert max(counts) < CALLS / 2


def test_arguments_results_and_errors_pass() -> None:
    assert call_with_room(divmod, 7, 2) == (3, 1)
    assert call_with_room(dict, a=1) == {"a": 1}
    with pytest.raises(ZeroDivisionError):
        call_with_room(divmod, 1, 0)
