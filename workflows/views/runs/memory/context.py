"""The memory of a run: recalled entries with their scores, written entries, and changes of a dry run."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from django.utils.functional import Promise

from accounts.principals import Principal
from workflows import permissions, selectors
from workflows.engine.language.document import Json
from workflows.engine.runtime.events import (
    MemoryEnded,
    MemoryForgetAsked,
    MemoryForgotten,
    MemoryKeptOut,
    MemoryRecalled,
    MemoryWritten,
)
from workflows.execution.ports.client_calls import CONVERSATION, PERSON, ClientCall
from workflows.models import DryRunChange, Run, RunEvent
from workflows.services.runs.descendants import list_descendants
from workflows.services.runs.run_access import find_private_namespace, record_page_access
from workflows.views.request_context import parse_valid_ids
from workflows.views.runs.memory.recalled import (
    SCOPE_LABELS,
    MemoryRow,
    SourceRun,
    build_memory_row,
    find_missed_query,
    list_profile_ids,
    name_key,
    set_reason,
)
from workflows.views.value_text import format_entry, format_value


MEMORY_EVENTS = (
    MemoryRecalled.name, MemoryWritten.name, MemoryKeptOut.name, MemoryForgotten.name, MemoryEnded.name,
    MemoryForgetAsked.name,
)  # fmt: skip


class RecalledEntry(NamedTuple):
    event: RunEvent
    entry: Mapping[str, Any]
    is_in_prompt: bool


@dataclass(frozen=True, slots=True)
class SandboxChange:
    """A memory change of a dry run with the value before and after the change."""

    row: DryRunChange
    before: str = ""
    after: str = ""
    title: str = ""
    scope_label: str | Promise = ""

    @property
    def name(self) -> str:
        return name_key(self.row.key)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The call of a client leaves out memory of a person, a conversation here, and what nodes wrote there."""

    person: bool
    conversation: bool
    changes: tuple[SandboxChange, ...]


@dataclass(frozen=True, slots=True)
class Pauses:
    """The parts of a run's memory that its person had paused."""

    recalling: bool = False
    remembering: bool = False


def build_memory_context(principal: Principal, run: Run) -> dict[str, Any]:
    """Build the context of the panel; access to an external user's memories is recorded in the audit log."""
    events = list_memory_events(principal, run)
    left_out = load_left_out(principal, run)
    scopes = ClientCall.from_json(run.client_call).list_left_out_scopes()
    changes = [
        row for row in selectors.list_memory_changes(principal, run) if row.scope not in scopes
    ]
    titles = load_step_titles(principal, run) if changes else {}
    recalled, written = record_access(
        principal,
        run,
        [
            *list_recalled(principal, run, events=events),
            *list_recalled_below(principal, run),
        ],
        list_written(principal, run, events=events),
        other_namespaces={row.namespace for row in changes},
    )
    return {
        "run": run,
        "in_sandbox": (run.debug or {}).get("memory") == "sandbox",
        "recalled": recalled,
        "written": written,
        "notes": list_notes(principal, run, events),
        "pauses": find_pauses(events),
        "left_out": left_out,
        "changes": [_build_change(row, titles) for row in changes],
        "undecided": sum(row.fate == DryRunChange.Fate.OPEN for row in changes),
        "can_decide": permissions.may_cancel(principal, run),
    }


def record_access(
    principal: Principal, run: Run, *lists: list[MemoryRow], other_namespaces: Iterable[str] = ()
) -> list[list[MemoryRow]]:
    """Record the access to an external user's private memories, and return the lists with these memories marked.

    ``other_namespaces`` are the namespaces of the other memories on the page.
    """
    namespaces = {memory.namespace for rows in lists for memory in rows}.union(other_namespaces)
    person = record_page_access(principal, run, namespaces)
    if not person:
        return [*lists]
    private_namespace = find_private_namespace(principal, run)
    return [
        [
            # Only that person may open the page of this memory.
            replace(memory, private_to=person, url="")
            if memory.namespace == private_namespace
            else memory
            for memory in rows
        ]
        for rows in lists
    ]


def list_memory_events(principal: Principal, run: Run) -> list[RunEvent]:
    """Return the memory events of the run, without those of the scopes that it leaves out."""
    left_out = ClientCall.from_json(run.client_call).list_left_out_scopes()
    events = selectors.list_events(principal, run, *MEMORY_EVENTS)
    return [event for event in events if event.data.get("scope") not in left_out]


def load_left_out(principal: Principal, run: Run) -> LeftOut | None:
    """Return what the call of the run leaves out, with the changes that its nodes made there; None for an ordinary call."""
    call = ClientCall.from_json(run.client_call)
    if not call.left_out:
        return None
    rows = selectors.list_memory_changes(principal, run)
    rows = rows.filter(scope__in=call.list_left_out_scopes())
    titles = load_step_titles(principal, run)
    changes = tuple(_build_change(row, titles) for row in rows)
    return LeftOut(PERSON in call.left_out, CONVERSATION in call.left_out, changes)


def find_pauses(events: Iterable[RunEvent]) -> Pauses | None:
    """Return the parts of the memory that were paused, or None if there were none."""
    recalling = remembering = False
    for event in events:
        recalling |= event.data.get("withheld") == "paused"
        remembering |= event.name == MemoryKeptOut.name and "paused" in event.data.get(
            "reasons", ()
        )
    return Pauses(recalling, remembering) if recalling or remembering else None


def list_recalled(
    principal: Principal,
    run: Run,
    node: str | None = None,
    *,
    events: Iterable[RunEvent] | None = None,
    format_entry: Callable[[Mapping[str, Json]], str] = format_entry,
) -> list[MemoryRow]:
    """Return the recalled memories, those with a score first, independent of the order of the nodes.

    ``node`` limits them to those that this node recalled or that are in its prompt. ``events`` are the run's memory
    events, if they are loaded already. ``format_entry`` formats the value of an entry.
    """
    memory_events = (
        selectors.list_events(principal, run, MemoryRecalled.name) if events is None else events
    )
    recall_events = [event for event in memory_events if event.name == MemoryRecalled.name]
    steps = selectors.list_steps(principal, run).values_list("node_key", "title", "inputs")
    titles: dict[str, str] = {}
    prompts: dict[str, str] = {}
    for key, title, inputs in steps if recall_events else ():
        titles[key] = title
        prompts[key] = prompts.get(key, "") + "\n".join(
            message["text"] for message in list_prompt_messages(inputs)
        )
    prompt = "".join(prompts.values())
    profile_ids = list_profile_ids(recall_events)
    matches = sorted(
        (
            RecalledEntry(event, set_reason(entry, profile_ids), _is_in_prompt(prompt, entry))
            for event in recall_events
            for entry in event.data.get("entries", [])
        ),
        key=lambda match: match.entry.get("score") is None,
    )
    if node is not None:
        own_prompt = prompts.get(node, "")
        matches = _deduplicate(
            match
            for match in matches
            if match.event.data.get("node") == node or _is_in_prompt(own_prompt, match.entry)
        )
    source_runs = _load_source_runs(principal, recall_events)
    return [
        build_memory_row(
            entry,
            event,
            value=format_entry(entry),
            titles=titles,
            source_run=source_runs.get(str(entry.get("run") or "")),
            missed_query=find_missed_query(entry, event, recall_events),
            is_in_prompt=is_in_prompt,
        )
        for event, entry, is_in_prompt in matches
    ]


def list_recalled_below(principal: Principal, run: Run, node: str | None = None) -> list[MemoryRow]:
    """Return what the sub-workflows of the run recalled, each memory once; ``node`` limits them to those that it started.

    The title of a row names the sub-workflow and its node.
    """
    rows: dict[tuple[str, str], MemoryRow] = {}
    for descendant in list_descendants(principal, [run]):
        if node is not None and descendant.node != node:
            continue
        child = descendant.run
        for row in list_recalled(principal, child, events=list_memory_events(principal, child)):
            named = replace(row, title=f"{child.workflow.name} › {row.title or row.node}")
            rows.setdefault((row.namespace, row.key), named)
    return list(rows.values())


def list_prompt_messages(inputs: Json) -> list[dict[str, str]]:
    """Return the messages that were sent to the model of a step."""
    messages = inputs.get("messages") if isinstance(inputs, Mapping) else None
    return [
        {"role": str(message.get("role", "")), "text": str(message.get("text", ""))}
        for message in (messages if isinstance(messages, list) else ())
        if isinstance(message, Mapping)
    ]


def _is_in_prompt(prompt: str, entry: Mapping[str, Any]) -> bool:
    value = entry.get("value")
    return isinstance(value, str) and bool(value.strip()) and value in prompt


def _deduplicate(matches: Iterable[RecalledEntry]) -> list[RecalledEntry]:
    """Return each memory once, as recalled by the first node that searched for it."""
    unique: dict[str, RecalledEntry] = {}
    for match in matches:
        unique.setdefault(str(match.entry.get("id") or len(unique)), match)
    return list(unique.values())


def list_written(
    principal: Principal, run: Run, *, events: Iterable[RunEvent] | None = None
) -> list[MemoryRow]:
    """Return the written memories without the notes of the run; ``events`` are the run's memory events, if they are loaded."""
    memory_events = (
        selectors.list_events(principal, run, MemoryWritten.name) if events is None else events
    )
    write_events = [e for e in memory_events if e.name == MemoryWritten.name and not _is_note(e)]
    query = str(run.system.get("query") or "")
    titles = load_step_titles(principal, run) if write_events else {}
    rows = [
        build_memory_row(
            event.data["entry"],
            event,
            value=format_entry(event.data["entry"]),
            titles=titles,
        )
        for event in write_events
    ]
    return [replace(row, stated_in=query) for row in rows]


def list_notes(principal: Principal, run: Run, events: Iterable[RunEvent]) -> list[MemoryRow]:
    """Return the notes that the run wrote for its own steps. They are deleted when it ends, and nobody remembers them."""
    note_events = [e for e in events if e.name == MemoryWritten.name and _is_note(e)]
    titles = load_step_titles(principal, run) if note_events else {}
    return [_build_note_row(event, titles) for event in note_events]


def _is_note(event: RunEvent) -> bool:
    return bool(event.data.get("scope") == "run")


def _build_note_row(event: RunEvent, titles: Mapping[str, str]) -> MemoryRow:
    """Build the row of a note by its content. It has no link, because notes are deleted when their run ends."""
    value = event.data["entry"].get("value")
    content = value.get("content", value) if isinstance(value, Mapping) else value
    row = build_memory_row(event.data["entry"], event, value=format_value(content), titles=titles)
    return replace(row, url="")


def load_step_titles(principal: Principal, run: Run) -> Mapping[str, str]:
    return dict(selectors.list_steps(principal, run).values_list("node_key", "title"))


def _load_source_runs(principal: Principal, events: Iterable[RunEvent]) -> dict[str, SourceRun]:
    """Return the runs in which these entries were learned, if the caller may see them."""
    entries = (entry for event in events for entry in event.data.get("entries", []))
    ids = parse_valid_ids(entry.get("run") for entry in entries)
    runs = selectors.list_runs(principal).filter(pk__in=ids) if ids else ()
    return {str(run.pk): SourceRun(run.pk, run.summary) for run in runs}


def _build_change(row: DryRunChange, titles: Mapping[str, str]) -> SandboxChange:
    before = format_value(row.before["value"]) if row.before else ""
    after = format_value(row.entry["value"]) if row.entry else ""
    title = titles.get(row.node_key) or row.node_key
    return SandboxChange(row, before, after, title, SCOPE_LABELS.get(row.scope, row.scope))
