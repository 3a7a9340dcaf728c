"""What a check of a test case may be about, in words, and what is missing in the rows of a form."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from workflows.engine.kinds import AnyKind, Execution
from workflows.engine.language.comparisons import OPERATORS, get_operator_label
from workflows.engine.language.config_errors import HALF_MADE
from workflows.engine.language.document import Document, NodeSpec
from workflows.engine.language.problems import Problem
from workflows.templatetags.problems import describe_problem, list_titles
from workflows.views.phrases import translate_text


Choice = tuple[str, str | Promise]  # value, label

# The choice that opens a field for a path of one's own.
OTHER: Final = "other"
MAX_CHOICES: Final = 300  # of the parts of nodes
_RESULT: Final[tuple[Choice, ...]] = (
    ("answer", gettext_lazy("Final answer")),
    ("status", gettext_lazy("Run status")),
    ("error", gettext_lazy("Error message")),
)
_MEMORY: Final[tuple[Choice, ...]] = (
    ("recalled", gettext_lazy("Recalled memories")),
    ("recalled.count", gettext_lazy("Number of recalled memories")),
    ("written", gettext_lazy("Written memories")),
    ("written.count", gettext_lazy("Number of written memories")),
)
_COST: Final[tuple[Choice, ...]] = (
    ("seconds", gettext_lazy("Duration in seconds")),
    ("tokens", gettext_lazy("Tokens used")),
)
# Operators that conditions show as symbols or in words of programmers.
_OPERATOR_LABELS: Final[Mapping[str, Promise]] = {
    "=": gettext_lazy("equals (number)"),
    "≠": gettext_lazy("doesn't equal (number)"),
    ">": gettext_lazy("is more than"),
    "<": gettext_lazy("is less than"),
    "≥": gettext_lazy("is at least"),
    "≤": gettext_lazy("is at most"),
    "null": gettext_lazy("has no value"),
    "not null": gettext_lazy("has a value"),
}
_PARTS: Final[Mapping[str, Promise]] = {
    "of": gettext_lazy("choose what to check"),
    "operator": gettext_lazy("choose an operator"),
    "value": gettext_lazy("enter the expected value"),
}


@dataclass(frozen=True, slots=True)
class ChoiceGroup:
    label: str | Promise
    choices: tuple[Choice, ...]


def list_operators() -> list[tuple[str, str]]:
    """Return the operators with their words."""
    return [
        (name, str(_OPERATOR_LABELS.get(name) or translate_text(get_operator_label(name))))
        for name in OPERATORS
    ]


def list_subjects(
    document: Document | None = None, kinds: Mapping[str, AnyKind] | None = None
) -> list[ChoiceGroup]:
    """Return what can be checked: of any run, and of the outputs and nodes of the document if there is one."""
    outputs, nodes = _list_document_groups(document, kinds or {}) if document else ((), [])
    return [
        ChoiceGroup(_("Result"), (*_RESULT, *outputs)),
        ChoiceGroup(_("Memory"), _MEMORY),
        ChoiceGroup(_("Duration and cost"), _COST),
        *nodes,
        ChoiceGroup(_("Other"), ((OTHER, _("Another value…")),)),
    ]


def build_subjects_context(
    document: Document | None = None, kinds: Mapping[str, AnyKind] | None = None
) -> dict[str, object]:
    """Return the choices for the template of a check, and which values they have."""
    groups = list_subjects(document, kinds)
    listed = {value for group in groups for value, _label in group.choices}
    return {"subjects": groups, "listed": listed, "other": OTHER}


def _list_document_groups(
    document: Document, kinds: Mapping[str, AnyKind]
) -> tuple[tuple[Choice, ...], list[ChoiceGroup]]:
    titles, room = list_titles(document, kinds), MAX_CHOICES
    outputs: dict[str, str] = {}
    groups: list[ChoiceGroup] = []
    for node in document.nodes:
        kind = kinds.get(node.kind)
        if kind is None or kind.execution is Execution.ENTRY:
            continue
        names = _list_outputs(node, kind)
        gives_output = kind.provides_results or kind.execution is Execution.RESPONSE
        if gives_output and node.parent is None:
            outputs |= {f"output.{name}": _("Output %(name)s") % {"name": name} for name in names}
        choices = tuple(islice(_iter_node_choices(node, kind, names), room))
        room -= len(choices)
        if choices:
            groups.append(ChoiceGroup(titles[node.id], choices))
    return tuple(outputs.items()), groups


def _iter_node_choices(node: NodeSpec, kind: AnyKind, names: list[str]) -> Iterator[Choice]:
    yield f"step.{node.id}.status", _("Node status")
    if kind.execution is Execution.BRANCH:
        yield f"step.{node.id}.handle", _("Branch taken")
    for name in names:
        yield f"step.{node.id}.outputs.{name}", _("Output %(name)s") % {"name": name}


def _list_outputs(node: NodeSpec, kind: AnyKind) -> list[str]:
    if kind.provides_results:
        rows = node.data.get("outputs")
        rows = rows if isinstance(rows, list | tuple) else ()
        names = [row.get("variable") for row in rows if isinstance(row, Mapping)]
        return [name for name in names if isinstance(name, str) and name]
    try:
        return [output.name for output in kind.list_outputs(node)]
    except HALF_MADE:
        return []


def describe_place(problem: Problem) -> tuple[str, str]:
    """Return what is wrong in a form's own words, and the name of the row that it is about, or "".

    "turns.0.checks.1: value: …" is "Turn 1, check 2: enter the expected value", in the row turn-0-check-1.
    """
    steps = (problem.field or "").split(".")
    if steps[:1] != ["turns"] or len(steps) < 2 or not steps[1].isdecimal():
        place = f"{problem.field}: " if problem.field else ""
        return f"{place}{describe_problem(problem)}", ""
    turn = int(steps[1])
    if steps[2:3] != ["checks"] or len(steps) < 4 or not steps[3].isdecimal():
        rest = ".".join(steps[2:])
        message = ": ".join(filter(None, (rest, describe_problem(problem))))
        return _("Turn %(turn)s: %(message)s") % {"turn": turn + 1, "message": message}, ""
    check = int(steps[3])
    part = steps[4] if len(steps) > 4 else "value"
    values = {
        "turn": turn + 1,
        "check": check + 1,
        "message": _PARTS.get(part) or describe_problem(problem),
    }
    text = _("Turn %(turn)s, check %(check)s: %(message)s") % values
    return text, f"turn-{turn}-check-{check}"
