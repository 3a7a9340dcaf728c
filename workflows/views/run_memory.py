"""The memory of one run: what it recalled, with scores and their parts; what it wrote; what it would have."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from accounts.principals import Principal
from workflows import permissions, selectors
from workflows.engine.document import Json
from workflows.models import Run, RunEvent, WouldBe
from workflows.views.run_page import entry_url, shown


@dataclass(frozen=True, slots=True)
class Learnt:
    """The run an entry was learnt in: what was said there."""

    run_id: UUID
    words: str


@dataclass(frozen=True, slots=True)
class Recollection:
    node: str
    key: str
    value: str
    namespace: str
    url: str
    score: float | None = None
    parts: tuple[tuple[str, float], ...] = ()
    injected: bool = False
    learnt: Learnt | None = None

    @property
    def percent(self) -> int:
        return round((self.score or 0) * 100)


@dataclass(frozen=True, slots=True)
class Change:
    """A would-be change with what stands there now."""

    row: WouldBe
    before: str = ""
    after: str = ""
    refused: str = field(default="")


def run_memory(principal: Principal, run: Run) -> dict[str, Any]:
    changes = list(selectors.would_be_of(principal, run))
    return {
        "run": run,
        "in_sandbox": (run.debug or {}).get("memory") == "sandbox",
        "recalled": recalled_in(principal, run),
        "written": list(_written(principal, run)),
        "changes": [_change(row) for row in changes],
        "undecided": sum(row.fate == WouldBe.Fate.OPEN for row in changes),
        "can_decide": permissions.may_cancel(principal, run),
    }


def recalled_in(principal: Principal, run: Run, node: str | None = None) -> list[Recollection]:
    """``node``: only what this one recalled."""
    events = [
        event
        for event in selectors.events_of(principal, run, "memory_recalled")
        if node is None or event.data.get("node") == node
    ]
    learnt = _learnt(principal, events)
    return [
        _recollection(entry, event, learnt)
        for event in events
        for entry in event.data.get("entries", [])
    ]


def _written(principal: Principal, run: Run) -> Iterable[Recollection]:
    for event in selectors.events_of(principal, run, "memory_written"):
        yield _recollection(event.data["entry"], event, {})


def _recollection(
    entry: Mapping[str, Json], event: RunEvent, learnt: Mapping[str, Learnt]
) -> Recollection:
    return Recollection(
        node=str(event.data.get("node", "")),
        key=str(entry.get("key", "")),
        value=shown(entry.get("value")),
        namespace=str(event.data.get("namespace", "")),
        url=entry_url(str(entry.get("id", ""))),
        score=entry.get("score"),
        parts=tuple((name, float(part)) for name, part in (entry.get("parts") or {}).items()),
        injected=bool(event.data.get("injected")),
        learnt=learnt.get(str(entry.get("run") or "")),
    )


def _learnt(principal: Principal, events: Iterable[RunEvent]) -> dict[str, Learnt]:
    """The runs these entries come from, of those the principal may see."""
    ids = set()
    for event in events:
        for entry in event.data.get("entries", []):
            try:
                ids.add(UUID(str(entry.get("run"))))
            except ValueError:
                continue
    found = selectors.runs_for(principal).filter(pk__in=ids) if ids else ()
    return {str(run.pk): Learnt(run.pk, run.gist) for run in found}


def _change(row: WouldBe) -> Change:
    before = shown(row.before["value"]) if row.before else ""
    after = shown(row.entry["value"]) if row.entry else ""
    return Change(row, before, after)
