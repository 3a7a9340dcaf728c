"""The functions that the logic takes from its callers: one returns new ids, one asks a language model."""

from collections.abc import Awaitable, Callable


# Returns a unique id; the caller decides whether ids sort by time.
NewId = Callable[[], str]

# Takes one prompt and returns the model's response; the caller reports any exception and continues.
AskModel = Callable[[str], Awaitable[str]]
