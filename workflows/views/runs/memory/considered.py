"""How many memories a run considered, how many it used, and why it left out the others."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.principals import Principal
from accounts.tenancy import reading
from workflows import memory_app
from workflows.engine.runtime.events import MemoryRecalled
from workflows.models import Run, RunEvent
from workflows.views.request_context import parse_id_or_none
from workflows.views.runs.memory.context import load_step_titles
from workflows.views.runs.memory.recalled import SCOPE_LABELS, build_entry_url


REASONS: Final[Mapping[str, Promise]] = {
    "irrelevant": _("Too little to do with the query"),
    "former": _("No longer holds"),
}
MAX_LENGTH: Final = 2_000  # of a value


@dataclass(frozen=True, slots=True)
class LeftOutRow:
    """A memory that a search left out. Without a ``value``, the reader may not see it, or it has been deleted."""

    reason: str | Promise
    percent: int | None
    node: str
    scope_label: str | Promise
    value: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class Considered:
    """The numbers of memories, each counted once, and those that were left out."""

    was_searched: bool = False
    used_count: int = 0
    left_out: tuple[LeftOutRow, ...] = ()
    namespaces: frozenset[str] = field(default_factory=frozenset)  # of what is shown

    @property
    def count(self) -> int:
        return self.used_count + len(self.left_out)


def list_considered(principal: Principal, run: Run, events: Iterable[RunEvent]) -> Considered:
    """Return what the searches of the run considered. Of what the reader may not see, only that it was left out."""
    recalls = [event for event in events if event.name == MemoryRecalled.name]
    used = {str(hit.get("id")) for event in recalls for hit in event.data.get("entries", [])}
    left_out: dict[str, tuple[RunEvent, Mapping[str, Any]]] = {}
    for event in recalls:
        for each in event.data.get("left_out", []):
            if str(each.get("id")) not in used:
                left_out.setdefault(str(each.get("id")), (event, each))
    titles = load_step_titles(principal, run) if left_out else {}
    visible, namespaces = _load_visible(principal, run, left_out)
    rows = [
        _build_row(event, each, titles, visible.get(entry_id))
        for entry_id, (event, each) in left_out.items()
    ]
    return Considered(bool(recalls), len(used), tuple(rows), namespaces)


def _load_visible(
    principal: Principal, run: Run, ids: Iterable[str]
) -> tuple[dict[str, Any], frozenset[str]]:
    """Return the entries that the reader may see, by id and without forgotten ones, and their namespaces."""
    parsed: Sequence[UUID] = [
        entry_id for text in ids if (entry_id := parse_id_or_none(text)) is not None
    ]
    if not parsed or not memory_app.is_on():
        return {}, frozenset()
    caller = memory_app.MemoryCaller(principal, run.team_id)
    entries = memory_app.load_personal_entries(caller, ids=parsed).items()
    visible = {str(pk): entry for pk, entry in entries if not entry.row.is_forgotten}
    with reading([run.team_id]):
        return visible, frozenset(entry.row.namespace.text for entry in visible.values())


def _build_row(
    event: RunEvent, each: Mapping[str, Any], titles: Mapping[str, str], entry: Any
) -> LeftOutRow:
    node, scope = str(event.data.get("node", "")), str(event.data.get("scope", ""))
    reason, score = str(each.get("reason", "")), each.get("score")
    return LeftOutRow(
        reason=REASONS.get(reason, reason),
        percent=None if score is None else round(score * 100),
        node=titles.get(node) or node,
        scope_label=SCOPE_LABELS.get(scope, scope),
        value="" if entry is None else entry.text[:MAX_LENGTH],
        url="" if entry is None else build_entry_url(str(each.get("id"))),
    )
