"""Render the reference pages from the tables that the code itself uses."""

import json
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Final, TypeVar

import yaml

from accounts.roles import render_permissions
from workflows.engine.kind_examples import build_example_data, list_outputs
from workflows.engine.kinds import AnyKind, Execution, Field
from workflows.engine.language.document import Dialect, Mode
from workflows.engine.language.failure_policy import Backoff, Retry
from workflows.engine.nodes import build_kinds
from workflows.engine.runtime.state import NODE_MOVES, RUN_MOVES
from workflows.views.editor.palette import GROUPS


State = TypeVar("State", bound=StrEnum)

_MODES: Final[Mapping[Mode, str]] = {Mode.CHAT: "chats", Mode.WORKFLOW: "workflows"}
_FORMATS: Final[Mapping[str, str]] = {Dialect.DIFY: "Dify", Dialect.XWORKFLOW: "Mnemoflow format"}


def render_node_kinds() -> str:
    """Return the page of the built-in node kinds; plug-ins document their own."""
    lines = ["# Node kinds", "", "The node kinds. `type` in a node's data names its kind.", ""]
    kinds = build_kinds()
    lines += _render_overview(kinds.values())
    for name in sorted(kinds):
        lines += _render_kind(kinds[name])
    return "\n".join(lines).rstrip() + "\n"


def render_run_states() -> str:
    lines = ["# States", "", "The allowed transitions. A state without a successor is final.", ""]
    lines += ["## Of a run", "", *_render_transitions(RUN_MOVES), ""]
    lines += ["## Of a node in a run", "", *_render_transitions(NODE_MOVES), ""]
    return "\n".join(lines)


PAGES: Mapping[str, Callable[[], str]] = {
    "node-kinds.md": render_node_kinds,
    "permissions.md": render_permissions,
    "run-states.md": render_run_states,
}


def _render_overview(kinds: Iterable[AnyKind]) -> Iterable[str]:
    """Yield a table of where each kind is: in the palette, and in which formats."""
    columns = ["type", "palette", *_FORMATS.values()]
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for kind in sorted(kinds, key=lambda kind: kind.name):
        marks = ["yes" if dialect in kind.dialects else "" for dialect in _FORMATS]
        link = f"[`{kind.name}`](#{_build_anchor(kind)})"
        yield f"| {' | '.join([link, _describe_place(kind), *marks])} |"
    yield ""
    yield "Both formats keep nodes of every type. Without a *yes*, programs other than Mnemoflow that read the format don't know the type."
    yield "Every type runs in a worker with the database as in one process."
    yield ""


def _describe_place(kind: AnyKind) -> str:
    if kind.execution is Execution.ENTRY:
        return "comes with its container"
    group = str(GROUPS.get(kind.group, kind.group))
    return f"{group}, {_MODES[kind.mode]} only" if kind.mode else group


def _build_anchor(kind: AnyKind) -> str:
    """Return the anchor that Markdown renderers give to the heading of the kind."""
    return f"{kind.title} {kind.name}".lower().replace(" ", "-").replace("&", "").replace("/", "")


def _render_kind(kind: AnyKind) -> Iterable[str]:
    yield from (f"## {kind.title} (`{kind.name}`)", "", kind.description, "")
    yield f"- Group: {kind.group}"
    yield f"- Execution: {kind.execution}"
    if kind.aliases:
        yield f"- Also called: {', '.join(f'`{alias}`' for alias in kind.aliases)}"
    if kind.has_effect:
        yield "- Has side effects"
    if kind.retry:
        yield f"- {_describe_retry(kind.retry)}"
    if kind.needs_memory:
        yield "- Needs memory"
    yield ""
    if kind.fields:
        yield from ("| field | label | form | required | default | |", "|---|---|---|---|---|---|")
        yield from _render_fields(kind.fields)
        yield ""
    if outputs := list_outputs(kind):
        yield from ("| output | type | |", "|---|---|---|")
        yield from (f"| `{output.name}` | {output.type} | {output.help} |" for output in outputs)
        yield ""
    example = yaml.safe_dump(build_example_data(kind), allow_unicode=True, sort_keys=False)
    yield from ("```yaml", *example.rstrip().splitlines(), "```", "")


def _describe_retry(retry: Retry) -> str:
    interval = f"{retry.interval_ms:,g} ms"
    if retry.backoff is not Backoff.FIXED:
        interval += f", growing up to {retry.max_interval_ms:,g} ms ({retry.backoff})"
    return f"Supports retry; once switched on, {retry.max_retries} times after {interval} each"


def _render_fields(fields: Iterable[Field], prefix: str = "") -> Iterable[str]:
    for field in fields:
        default = "" if field.default is None else f"`{json.dumps(field.default)}`"
        required = "yes" if field.required else ""
        name = f"{prefix}{field.name}"
        yield f"| `{name}` | {field.label} | {_describe_form(field)} | {required} | {default} | {field.help} |"
        yield from _render_fields(field.fields, f"{name}.")


def _describe_form(field: Field) -> str:
    if not field.choices:
        return field.widget.value
    return f"{field.widget.value}: {', '.join(f'`{value}`' for value, _label in field.choices)}"


def _render_transitions(transitions: Mapping[State, frozenset[State]]) -> Iterable[str]:
    yield from ("| from | to |", "|---|---|")
    for state in type(next(iter(transitions))):
        # Sorted, because the order of a set differs between processes.
        successors = ", ".join(sorted(successor.value for successor in transitions[state]))
        yield f"| {state.value} | {successors or '—'} |"
