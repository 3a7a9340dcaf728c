"""Says in words which case of an if/else step matched, with the values that were compared."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from django.utils.translation import gettext as _

from workflows.engine.appearance import get_variable_name
from workflows.engine.language.comparisons import get_operator_label, is_unary
from workflows.engine.language.document import Json
from workflows.engine.nodes.control.if_else import COMPARED, IfElse
from workflows.engine.text_rendering import as_text
from workflows.models import Step
from workflows.views.phrases import translate_text


MAX_SHOWN = 80  # characters of a value


def describe_branch(step: Step) -> Sequence[str]:
    """Return a line for the case that matched, or one that says that none did and one for each case."""
    rows = (step.inputs or {}).get(COMPARED)
    if step.kind != IfElse.name or not isinstance(rows, list) or not rows:
        return ()
    cases = [
        (number, list(own_rows)) for number, own_rows in groupby(rows, lambda row: row["case"])
    ]
    if (step.outputs or {}).get("result"):
        return [_describe_case(*cases[-1])]
    return [_("Else: no case matched"), *(_describe_case(*case) for case in cases)]


def _describe_case(number: int, rows: Sequence[Mapping[str, Json]]) -> str:
    joint = _(" or ") if rows[0]["logical_operator"] == "or" else _(" and ")
    conditions = joint.join(_describe_comparison(row) for row in rows)
    return _("Case %(number)s: %(conditions)s") % {"number": number, "conditions": conditions}


def _describe_comparison(row: Mapping[str, Json]) -> str:
    operator = str(row["comparison_operator"])
    parts = [
        get_variable_name(row["variable_selector"]),
        f"({_format(row, 'actual_value')})",
        translate_text(get_operator_label(operator)),
    ]
    if not is_unary(operator) and row.get("expected_value", "") is not None:
        parts.append(_format(row, "expected_value"))
    return " ".join(parts)


def _format(row: Mapping[str, Json], name: str) -> str:
    if (length := row.get(f"{name}_length")) is not None:
        return _("%(n)s characters") % {"n": length}
    text = as_text(row.get(name))
    short = text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"
    return short if any(letter.isalnum() for letter in short) else f"“{short}”"
