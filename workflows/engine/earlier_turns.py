"""The earlier turns of a run's conversation, which its nodes may read."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from workflows.engine.language.document import Json


MAX_FACT: Final = 2_000  # characters of what an entry said
HIDDEN_SCOPES: Final = frozenset({"run", "run_metadata"})


class TurnFact(NamedTuple):
    """An entry of memory that a turn stored or else recalled, with what it said then."""

    id: str
    scope: str
    text: str
    is_stored: bool = False


class EarlierTurn(NamedTuple):
    """An earlier turn of a conversation. ``is_untrusted``: its answer may contain content from outside.

    ``memories`` are the words of memories in the answer, if the start of the run doesn't have those of all turns. ``facts``
    are the entries that the turn stored or recalled, which may have been forgotten since.
    """

    query: str
    answer: str
    is_untrusted: bool = False
    memories: tuple[str, ...] = ()
    facts: tuple[TurnFact, ...] = ()


class HistoryPort(Protocol):
    """Reads earlier turns of the run's conversation, oldest first, for the ``memory`` window of an LLM node."""

    async def list_turns(self, *, limit: int | None) -> Sequence[EarlierTurn]: ...


def list_facts(events: Iterable[Mapping[str, Json]]) -> tuple[TurnFact, ...]:
    """Return the entries that the data of a turn's events names: those that it stored, and those that it recalled."""
    return tuple(dict.fromkeys(fact for data in events for fact in _iterate_facts(data)))


def _iterate_facts(data: Mapping[str, Json]) -> Iterator[TurnFact]:
    scope = str(data.get("scope") or "")
    entry_written = data.get("entry")
    for entry in [entry_written] if entry_written else data.get("entries") or ():
        id_, text = entry.get("id"), entry.get("value")
        is_text = isinstance(text, str) and 0 < len(text) <= MAX_FACT
        if id_ and is_text and scope not in HIDDEN_SCOPES:
            yield TurnFact(str(id_), scope, text, is_stored=bool(entry_written))
