"""Room for the frames of functions, without which deep calls are slow.

Python keeps the frames of a thread in chunks of 16 KiB, which it asks the system for one by one. A loop that happens to
be just as deep as the end of a chunk needs a new chunk for each call, and gives it back after the call. Pages are made
forty calls deep and more, so that always some loop was there: a sixth of the processor time of our tests was spent on
it. Newer versions of Python keep a chunk (https://github.com/python/cpython/issues/142183), but not 3.11 and 3.12.
"""

from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar


P = ParamSpec("P")
T = TypeVar("T")

# Places of eight bytes. A frame that needs more than a chunk gets a larger one, of a power of two: this one 512 KiB. Its
# second half is room for more calls than the limit of recursion allows. What is never touched takes no memory.
SLOTS: Final = 33_000


def call_with_room(function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Call the function with room for the frames of all that it calls, and return its result.

    It takes twenty microseconds: it is for whatever begins a thread, a request or a job.
    """
    return function(*arguments, **named)


call_with_room.__code__ = call_with_room.__code__.replace(co_stacksize=SLOTS)
