"""Checks that every node is of a known kind, and configured as its kind requires."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from workflows.engine.field_labels import build_field_label
from workflows.engine.foreign_kinds.placeholders import describe_origin
from workflows.engine.kinds import AnyKind, Field
from workflows.engine.language.config_errors import describe_missing
from workflows.engine.language.document import Document, Mode, NodeSpec
from workflows.engine.language.failure_policy import read_policy
from workflows.engine.language.memory_usage import MEMORY_FIELDS, RECALL_FIELD
from workflows.engine.language.problems import Problem, build_warning, select_errors
from workflows.engine.language.validation.rows import find_empty_rows, is_blank
from workflows.engine.language.validation.suggestions import Suggester


END: Final = "end"
# The field of the variable with the messages, of every kind that has such a window.
WINDOW_VARIABLE_FIELD = "memory.variable_selector"
# Scopes that the forms of chat and page nodes do not list, but that documents may use.
_UNLISTED_SCOPES = ("workflow",)


def find_configuration_problems(document: Document, kinds: Mapping[str, AnyKind]) -> list[Problem]:
    suggester = Suggester()
    has_memory = any(field.name == RECALL_FIELD for kind in kinds.values() for field in kind.fields)
    return [
        problem
        for node in document.nodes
        for problem in (
            *_find_node_problems(node, kinds, suggester, has_memory=has_memory),
            *_find_window_problems(node, kinds, document.mode),
        )
    ]


def excuse_empty_ends(problems: Iterable[Problem], document: Document) -> list[Problem]:
    """Return the problems, in which an end without outputs is not half-made if another end has some.

    A path may end with nothing to return, such as the one of a person's refusal.
    """
    ends = [node for node in document.nodes if node.kind == END]
    empty = {node.id for node in ends if is_blank(node.data.get("outputs"))}
    if len(empty) == len(ends):
        return [*problems]
    return [
        replace(problem, code="end.empty")
        if problem.node in empty and problem.code == "config.empty"
        else problem
        for problem in problems
    ]


def _find_node_problems(
    node: NodeSpec, kinds: Mapping[str, AnyKind], suggester: Suggester, *, has_memory: bool
) -> Iterator[Problem]:
    if node.kind not in kinds:
        origin = describe_origin(node)
        # A type that belongs to something else is no slip of the pen.
        close = suggester.find_close(node.kind, list(kinds)) if origin == node.kind else None
        hint = f"; did you mean {close}?" if close else ""
        message = f"This installation has no node type {origin}{hint}"
        yield build_warning("kind.unknown", message, node=node.id, field="type")
        return
    kind = kinds[node.kind]
    problems = kind.check(node)
    yield from problems
    if not select_errors(problems):
        yield from _find_empty_fields(node, kind)
    yield from _leave_out_reported(find_empty_rows(node, kind), problems)
    yield from _find_scope_problems(node, kind)
    yield from read_policy(node, kind.retry)[1]
    for name in () if has_memory else MEMORY_FIELDS:
        if node.data.get(name) is not None:
            message = f"Unknown field {name}: memory is disabled"
            yield Problem("config.unknown_field", message, node=node.id, field=name)


def _find_empty_fields(node: NodeSpec, kind: AnyKind) -> Iterator[Problem]:
    """Yield a warning for each empty field that is required or has a warning of its own."""
    for field in kind.fields:
        if any(node.data.get(name) for name in field.alternatives):
            continue
        if field.empty_warning and is_blank(node.data.get(field.name)):
            yield build_warning("config.empty", field.empty_warning, node=node.id, field=field.name)
        elif field.required and is_blank(node.data.get(field.name, field.default)):
            message = describe_missing(field)
            yield build_warning("config.empty", message, node=node.id, field=field.name)


def _leave_out_reported(rows: Iterable[Problem], problems: Iterable[Problem]) -> Iterator[Problem]:
    """Yield the problems of rows at whose control the kind has found none."""
    fields = [f"{problem.field}." for problem in problems if problem.field]
    for row in rows:
        if not any(f"{row.field}.".startswith(field) for field in fields):
            yield row


def _find_window_problems(
    node: NodeSpec, kinds: Mapping[str, AnyKind], mode: Mode
) -> Iterator[Problem]:
    """Warn of a window on the turns of a conversation in a workflow that isn't a chat and so has none."""
    if mode is not Mode.CHAT and node.kind in kinds and kinds[node.kind].reads_answers(node):
        message = (
            "The conversation memory window adds nothing: only a chat has earlier messages;"
            " choose a variable with messages, or turn it off"
        )
        yield build_warning("memory.no_turns", message, node=node.id, field=WINDOW_VARIABLE_FIELD)


def _find_scope_problems(node: NodeSpec, kind: AnyKind) -> Iterator[Problem]:
    """Check memory scopes against the choices of their fields, which include those of plug-ins."""
    for path, scope, field in _iter_scopes(kind.fields, node.data):
        if scope.strip() and scope not in (
            *(value for value, _label in field.choices),
            *_UNLISTED_SCOPES,
        ):
            label = build_field_label(path, kind.fields)
            message = (
                f"{label} must be one of: {', '.join(label for _value, label in field.choices)}"
            )
            yield Problem("config.unknown_scope", message, node=node.id, field=".".join(path))


def _iter_scopes(
    fields: Iterable[Field], data: Mapping[str, object], parents: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], str, Field]]:
    """Yield the path, the value and the field of each memory scope."""
    for field in fields:
        value = data.get(field.name)
        if field.name == "scope" and isinstance(value, str) and field.choices:
            yield (*parents, "scope"), value, field
        elif field.fields and isinstance(value, Mapping):
            yield from _iter_scopes(field.fields, value, (*parents, field.name))
