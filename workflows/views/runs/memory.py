"""The memory of one run: what it recalled, with scores and their parts; what it wrote; what it would have."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.utils.functional import Promise

from accounts.principals import Principal
from workflows import permissions, selectors
from workflows.engine.language.document import Json
from workflows.models import DryRunChange, Run, RunEvent
from workflows.services.runs.run_access import find_private_namespace, record_page_access
from workflows.views.runs.recalled_memory import (
    WHOSE,
    Learnt,
    Recollection,
    missed_by,
    recollection,
)
from workflows.views.value_text import format_value


@dataclass(frozen=True, slots=True)
class Change:
    """A would-be change with what stands there now."""

    row: DryRunChange
    before: str = ""
    after: str = ""
    title: str = ""
    whose: str | Promise = ""


# What a run says of its memory as it goes on.
SAID = ("memory_recalled", "memory_written", "memory_kept_out", "memory_forgotten")


@dataclass(frozen=True, slots=True)
class LeftOff:
    """What of a run's memory its person had paused."""

    recalling: bool = False
    remembering: bool = False


def run_memory(principal: Principal, run: Run) -> dict[str, Any]:
    said = said_in(principal, run)
    changes = list(selectors.memory_changes_of(principal, run))
    titles = titles_of(principal, run) if changes else {}
    recalled, written = looked_at(
        principal,
        run,
        recalled_in(principal, run, said=said),
        written_in(principal, run, said=said),
        besides={row.namespace for row in changes},
    )
    return {
        "run": run,
        "in_sandbox": (run.debug or {}).get("memory") == "sandbox",
        "recalled": recalled,
        "written": written,
        "left_off": left_off_in(said),
        "changes": [_change(row, titles) for row in changes],
        "undecided": sum(row.fate == DryRunChange.Fate.OPEN for row in changes),
        "can_decide": permissions.may_cancel(principal, run),
    }


def looked_at(
    principal: Principal, run: Run, *lists: list[Recollection], besides: Iterable[str] = ()
) -> list[list[Recollection]]:
    """As they are shown: what is private to an outside person says so, and that it was shown is in the trail.

    ``besides``: namespaces of what else the page shows.
    """
    spaces = {one.namespace for rows in lists for one in rows}.union(besides)
    whose = record_page_access(principal, run, spaces)
    if not whose:
        return [*lists]
    space = find_private_namespace(principal, run)
    return [
        [
            # the page of that memory is theirs alone: the link would lead nowhere
            replace(one, private_to=whose, url="") if one.namespace == space else one
            for one in rows
        ]
        for rows in lists
    ]


def said_in(principal: Principal, run: Run) -> list[RunEvent]:
    return list(selectors.events_of(principal, run, *SAID))


def left_off_in(said: Iterable[RunEvent]) -> LeftOff | None:
    recalling = remembering = False
    for event in said:
        recalling |= event.data.get("withheld") == "paused"
        remembering |= event.name == SAID[2] and "paused" in event.data.get("reasons", ())
    return LeftOff(recalling, remembering) if recalling or remembering else None


def recalled_in(
    principal: Principal,
    run: Run,
    node: str | None = None,
    *,
    said: Iterable[RunEvent] | None = None,
    written: Callable[[Json], str] = format_value,
) -> list[Recollection]:
    """What has a score first, whichever node was quicker. ``node``: only what this one recalled, and what others did
    that stands in its prompt. ``said``: the run's events of memory, where they are known already. ``written``: a value
    as text."""
    heard = selectors.events_of(principal, run, SAID[0]) if said is None else said
    events = [event for event in heard if event.name == SAID[0]]
    steps = selectors.steps_of(principal, run).values_list("node_key", "title", "inputs")
    titles: dict[str, str] = {}
    prompts: dict[str, str] = {}
    for key, title, inputs in steps if events else ():
        titles[key] = title
        prompts[key] = prompts.get(key, "") + _prompt(inputs)
    asked = "".join(prompts.values()) if node is None else prompts.get(node, "")
    found = sorted(
        (
            (event, entry, _stands_in(asked, entry))
            for event in events
            for entry in event.data.get("entries", [])
        ),
        key=lambda one: one[1].get("score") is None,
    )
    if node is not None:
        found = _once([one for one in found if one[2] or one[0].data.get("node") == node])
    learnt = _learnt(principal, events)
    rows = [
        recollection(
            entry,
            event,
            value=written(entry.get("value")),
            titles=titles,
            learnt=learnt.get(str(entry.get("run") or "")),
            missed=missed_by(entry, event, events),
        )
        for event, entry, _ in found
    ]
    return [
        replace(row, injected=row.injected or is_in)
        for row, (_, _, is_in) in zip(rows, found, strict=True)
    ]


def _prompt(inputs: Any) -> str:
    """What a model was sent in a step."""
    messages = inputs.get("messages") if isinstance(inputs, Mapping) else None
    return "\n".join(str(one.get("text", "")) for one in messages or () if isinstance(one, Mapping))


def _stands_in(prompt: str, entry: Mapping[str, Any]) -> bool:
    value = entry.get("value")
    return isinstance(value, str) and bool(value.strip()) and value in prompt


Found = tuple[RunEvent, Mapping[str, Any], bool]


def _once(found: Iterable[Found]) -> list[Found]:
    """Each memory once, though two nodes came upon it: as the first did, which searched for it."""
    kept: dict[str, Found] = {}
    for one in found:
        kept.setdefault(str(one[1].get("id") or len(kept)), one)
    return list(kept.values())


def written_in(
    principal: Principal, run: Run, *, said: Iterable[RunEvent] | None = None
) -> list[Recollection]:
    heard = selectors.events_of(principal, run, SAID[1]) if said is None else said
    events = [event for event in heard if event.name == SAID[1]]
    titles = titles_of(principal, run) if events else {}
    return [
        recollection(
            event.data["entry"],
            event,
            value=format_value(event.data["entry"].get("value")),
            titles=titles,
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
    return {str(run.pk): Learnt(run.pk, run.summary) for run in found}


def _change(row: DryRunChange, titles: Mapping[str, str]) -> Change:
    before = format_value(row.before["value"]) if row.before else ""
    after = format_value(row.entry["value"]) if row.entry else ""
    title = titles.get(row.node_key) or row.node_key
    return Change(row, before, after, title, WHOSE.get(row.scope, row.scope))
