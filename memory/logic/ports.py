"""The dependencies of the logic besides a store: new ids, and a language model."""

from collections.abc import Awaitable, Callable


# Returns a unique name; the caller decides whether ids sort by time.
NewId = Callable[[], str]

# Takes one prompt and returns one text; whatever it raises, its caller reports and continues.
AskModel = Callable[[str], Awaitable[str]]
