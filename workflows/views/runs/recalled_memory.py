"""A memory that a run recalled or wrote, as people read it: whose it is, how well it fitted, and why."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.apps import apps
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from workflows.engine.language.document import Json
from workflows.models import RunEvent


# What a score is made of, by the names the retriever has for it: memory.core.recall.ranking.
NO_VECTOR: Final = (
    "no_vector"  # gives nothing, and is told all the same: memory.core.recall.selection
)
PARTS: Final[Mapping[str, Promise]] = {
    "words": _("Words"),
    "context": _("With context"),
    "literal": _("Exact match"),
    "neighbours": _("Neighbors"),
    "vector": _("Meaning"),
    "recency": _("Recency"),
    NO_VECTOR: _("Not searched by meaning: the embedding model did not respond"),
}
WHOSE: Final[Mapping[str, Promise]] = {
    "conversation": _("Conversation"),
    "user": _("User"),
    "global": _("Global"),
    "workflow": _("Workflow (by group)"),
    "run": _("Run"),
}
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{8}([0-9a-f]{4})", re.I)


@dataclass(frozen=True, slots=True)
class Learnt:
    """The run an entry was learnt in: what was said there."""

    run_id: UUID
    words: str


@dataclass(frozen=True, slots=True)
class Recollection:
    """``key`` and ``namespace`` to the letter; ``name`` and ``whose`` are for reading."""

    node: str
    title: str
    key: str
    value: str
    namespace: str
    whose: str | Promise
    url: str
    score: float | None = None
    parts: tuple[tuple[str | Promise, float], ...] = ()
    is_newest: bool = False  # nothing was searched for: taken because it is new
    missed: str = ""  # what another node of the run searched for, to which this one's score is zero
    injected: bool = False
    learnt: Learnt | None = None
    private_to: str = ""  # the outside person whose own it is, where somebody else reads it

    @property
    def percent(self) -> int:
        return round((self.score or 0) * 100)

    @property
    def name(self) -> str:
        return name_of(self.key)


def recollection(
    entry: Mapping[str, Json],
    event: RunEvent,
    *,
    value: str,
    titles: Mapping[str, str],
    learnt: Learnt | None = None,
    missed: str = "",
) -> Recollection:
    data = event.data
    node, scope = str(data.get("node", "")), str(data.get("scope", ""))
    score = 0.0 if missed else entry.get("score")
    return Recollection(
        node=node,
        title=titles.get(node) or node,
        key=str(entry.get("key", "")),
        value=value,
        namespace=str(data.get("namespace", "")),
        whose=WHOSE.get(scope, scope),
        url=entry_url(str(entry.get("id", ""))),
        score=score,
        parts=tuple(_parts(entry)),
        is_newest=is_among_the_newest(entry, event),
        missed=missed,
        injected=bool(data.get("injected")),
        learnt=learnt,
    )


def name_of(key: str) -> str:
    """The key without the ids in it, which nobody reads: their last four characters tell them apart."""
    return _ID.sub(r"…\1", key)


def is_among_the_newest(entry: Mapping[str, Json], event: RunEvent) -> bool:
    taken = event.name == "memory_recalled" and entry.get("score") is None
    return taken and not event.data.get("query")


def missed_by(entry: Mapping[str, Json], event: RunEvent, events: Iterable[RunEvent]) -> str:
    """What was searched for in the same memory without finding this entry, though there was room left for
    whatever shares a word with it; nothing, where no search tells."""
    if not is_among_the_newest(entry, event) or not entry.get("id"):
        return ""
    for other in events:
        sought, found = other.data.get("sought") or {}, other.data.get("entries", [])
        same = other.data.get("scope") == event.data.get("scope") and not sought.get("key")
        same &= sought.get("filter") == (event.data.get("sought") or {}).get("filter")
        room = other.data.get("query") and len(found) < (sought.get("top_k") or 0)
        if same and room and all(one.get("id") != entry["id"] for one in found):
            return str(other.data["query"])
    return ""


def entry_url(entry_id: str) -> str:
    """None for what another provider keeps: there it has an id of that one's own, and no page here."""
    return reverse("memory:entry", args=[entry_id]) if _has_page(entry_id) else ""


def _has_page(entry_id: str) -> bool:
    try:
        UUID(entry_id)
    except ValueError:
        return False
    return apps.is_installed("memory")


def _parts(entry: Mapping[str, Json]) -> list[tuple[str | Promise, float]]:
    """Only what added to the score, and what could not."""
    found = ((name, float(part)) for name, part in (entry.get("parts") or {}).items())
    return [(PARTS.get(name, name), part) for name, part in found if part > 0 or name == NO_VECTOR]
