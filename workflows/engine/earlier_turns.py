"""The earlier turns of a run's conversation, which its nodes may read."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class EarlierTurn(NamedTuple):
    """An earlier turn of a conversation. ``is_untrusted``: its answer may contain content from outside.

    ``memories`` are the words of memories in the answer, if the start of the run doesn't have those of all turns.
    """

    query: str
    answer: str
    is_untrusted: bool = False
    memories: tuple[str, ...] = ()


class HistoryPort(Protocol):
    """Reads earlier turns of the run's conversation, oldest first, for the ``memory`` window of an LLM node."""

    async def list_turns(self, *, limit: int | None) -> Sequence[EarlierTurn]: ...
