"""The memory of one run: what it recalled, with scores and their parts; what it wrote; what it would have."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils.functional import Promise

from accounts.principals import Principal
from workflows import permissions, selectors
from workflows.models import Run, RunEvent, WouldBe
from workflows.views.recollections import WHOSE, Learnt, Recollection, recollection
from workflows.views.values import shown


@dataclass(frozen=True, slots=True)
class Change:
    """A would-be change with what stands there now."""

    row: WouldBe
    before: str = ""
    after: str = ""
    title: str = ""
    whose: str | Promise = ""


def run_memory(principal: Principal, run: Run) -> dict[str, Any]:
    changes = list(selectors.would_be_of(principal, run))
    titles = titles_of(principal, run) if changes else {}
    return {
        "run": run,
        "in_sandbox": (run.debug or {}).get("memory") == "sandbox",
        "recalled": recalled_in(principal, run),
        "written": written_in(principal, run),
        "changes": [_change(row, titles) for row in changes],
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
    titles = titles_of(principal, run) if events else {}
    return [
        recollection(
            entry,
            event,
            value=shown(entry.get("value")),
            titles=titles,
            learnt=learnt.get(str(entry.get("run") or "")),
        )
        for event in events
        for entry in event.data.get("entries", [])
    ]


def written_in(principal: Principal, run: Run) -> list[Recollection]:
    events = list(selectors.events_of(principal, run, "memory_written"))
    titles = titles_of(principal, run) if events else {}
    return [
        recollection(
            event.data["entry"], event, value=shown(event.data["entry"].get("value")), titles=titles
        )
        for event in events
    ]


def titles_of(principal: Principal, run: Run) -> Mapping[str, str]:
    return dict(selectors.steps_of(principal, run).values_list("node_key", "title"))


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


def _change(row: WouldBe, titles: Mapping[str, str]) -> Change:
    before = shown(row.before["value"]) if row.before else ""
    after = shown(row.entry["value"]) if row.entry else ""
    title = titles.get(row.node_key) or row.node_key
    return Change(row, before, after, title, WHOSE.get(row.scope, row.scope))
