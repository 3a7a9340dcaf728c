"""The dependencies of the logic besides a store: new ids, and a language model."""

from collections.abc import Awaitable, Callable


# Returns a unique name; the caller decides whether ids sort by time.
NewId = Callable[[], str]

# Takes one prompt and returns one text; raises whatever it likes, which its caller reports and survives.
AskModel = Callable[[str], Awaitable[str]]
