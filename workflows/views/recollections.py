"""A memory that a run recalled or wrote, as people read it: whose it is, how well it fitted, and why."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.apps import apps
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from workflows.engine.document import Json
from workflows.models import RunEvent


# What a score is made of, by the names the retriever has for it: memory.core.ranking.
PARTS: Final[Mapping[str, Promise]] = {
    "words": _("words"),
    "context": _("with what came before"),
    "literal": _("literally"),
}
WHOSE: Final[Mapping[str, Promise]] = {
    "conversation": _("This conversation"),
    "user": _("This person"),
    "global": _("Everyone"),
    "workflow": _("This workflow, for its group"),
    "run": _("This run"),
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
    injected: bool = False
    learnt: Learnt | None = None

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
) -> Recollection:
    data = event.data
    node, scope = str(data.get("node", "")), str(data.get("scope", ""))
    score = entry.get("score")
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
        is_newest=event.name == "memory_recalled" and score is None and not data.get("query"),
        injected=bool(data.get("injected")),
        learnt=learnt,
    )


def name_of(key: str) -> str:
    """The key without the ids in it, which nobody reads: their last four characters tell them apart."""
    return _ID.sub(r"…\1", key)


def entry_url(entry_id: str) -> str:
    return (
        reverse("memory:entry", args=[entry_id]) if apps.is_installed("memory") and entry_id else ""
    )


def _parts(entry: Mapping[str, Json]) -> list[tuple[str | Promise, float]]:
    """Only what added to the score."""
    found = ((name, float(part)) for name, part in (entry.get("parts") or {}).items())
    return [(PARTS.get(name, name), part) for name, part in found if part > 0]
