"""Converts a test case to form fields and back.

Rows are numbered (``turn-0-check-1-of``). Empty rows are ignored, so that a form can always end with one to fill in.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from workflows.engine.language.comparisons import OPERATORS
from workflows.engine.language.document import Json
from workflows.engine.language.dsl.yaml_reading import read_yaml
from workflows.engine.testing.cases import PERSON


MAX_ROWS = 50

# The subjects of a check, the most common first; a path inside can follow.
SUBJECTS = (
    ("answer", gettext_lazy("Final answer")),
    ("output.", gettext_lazy("Output by name")),
    ("recalled", gettext_lazy("Recalled memories")),
    ("recalled.count", gettext_lazy("Number of recalled memories")),
    ("written", gettext_lazy("Written memories")),
    ("written.count", gettext_lazy("Number of written memories")),
    ("status", gettext_lazy("Run status")),
    ("step.", gettext_lazy("Node: step.<id>.status, .handle or .outputs.<name>")),
    ("seconds", gettext_lazy("Duration")),
    ("tokens", gettext_lazy("Tokens used")),
)


@dataclass
class CheckRow:
    """The fields of a check; ``name`` is the prefix of their names."""

    name: str
    of: str = ""
    operator: str = "contains"
    value: str = ""


@dataclass
class TurnRow:
    """The fields of a turn with its checks; ``name`` is the prefix of their names."""

    name: str
    say: str = ""
    inputs: str = ""
    person: str = ""
    conversation: str = ""
    checks: list[CheckRow] = field(default_factory=list)


@dataclass
class CaseForm:
    """The form of a test case; ``more`` is YAML with the seed memories, pins and variables, which have no fields."""

    name: str = ""
    turns: list[TurnRow] = field(default_factory=list)
    more: str = ""
    is_unfinished: bool = False

    operators = tuple(OPERATORS)

    def build_spec(self) -> dict[str, Json]:
        """Return the case as JSON for the engine to check; raise ValueError for text that is not JSON or YAML."""
        more = read_yaml(self.more) if self.more.strip() else {}
        if not isinstance(more, dict):
            raise ValueError(_("Memories, pins and variables must be a YAML mapping."))
        return {**more, "name": self.name, "turns": [_serialize_turn(turn) for turn in self.turns]}


def build_form(spec: Mapping[str, Any]) -> CaseForm:
    """Return the form of a stored case, with an empty check in every turn."""
    turns = [
        TurnRow(
            name=f"turn-{i}",
            say=turn.get("say") or "",
            inputs=json.dumps(turn["inputs"], ensure_ascii=False, indent=2) if turn.get("inputs") else "",
            person=turn.get("person", ""),
            conversation=turn.get("conversation", ""),
            checks=[
                CheckRow(
                    f"turn-{i}-check-{j}",
                    check.get("of", ""),
                    check.get("operator", "contains"),
                    _format_value(check.get("value")),
                )
                for j, check in enumerate(turn.get("checks", ()))
            ],
        )
        for i, turn in enumerate(spec.get("turns", ()))
    ]  # fmt: skip
    other_parts = {key: spec[key] for key in ("memories", "pins", "variables") if spec.get(key)}
    more = yaml.safe_dump(other_parts, allow_unicode=True, sort_keys=False) if other_parts else ""
    return _add_empty_checks(CaseForm(spec.get("name", ""), turns, more))


def read_form(data: Mapping[str, str]) -> CaseForm:
    """Read the submitted form; with ``add`` or ``drop``, a turn is added or dropped and the form is not saved yet."""
    turns = [_read_turn(data, f"turn-{i}") for i in _list_row_numbers(data, "turn-{}-person")]
    form = CaseForm(data.get("name", "").strip(), turns, data.get("more", ""))
    form.is_unfinished = "add" in data or "drop" in data
    if data.get("add") == "turn" and len(turns) < MAX_ROWS:
        turns.append(TurnRow(""))
    dropped = data.get("drop", "")
    if dropped.isdecimal() and int(dropped) < len(turns) and len(turns) > 1:
        del turns[int(dropped)]
    return _add_empty_checks(_number_rows(form)) if form.is_unfinished else form


def _read_turn(data: Mapping[str, str], name: str) -> TurnRow:
    return TurnRow(
        name,
        say=data.get(f"{name}-say", ""),
        inputs=data.get(f"{name}-inputs", ""),
        person=data[f"{name}-person"].strip(),
        conversation=data.get(f"{name}-conversation", "").strip(),
        checks=[
            CheckRow(
                "",
                data[f"{row}-of"].strip(),
                data.get(f"{row}-operator", "contains"),
                data.get(f"{row}-value", ""),
            )
            for row in (
                f"{name}-check-{j}" for j in _list_row_numbers(data, f"{name}-check-{{}}-of")
            )
            if data[f"{row}-of"].strip()
        ],
    )


def _list_row_numbers(data: Mapping[str, str], pattern: str) -> range:
    """Return the numbers of the rows up to the first gap."""
    return range(next((i for i in range(MAX_ROWS) if pattern.format(i) not in data), MAX_ROWS))


def _number_rows(form: CaseForm) -> CaseForm:
    for i, turn in enumerate(form.turns):
        turn.name = f"turn-{i}"
        for j, check in enumerate(turn.checks):
            check.name = f"turn-{i}-check-{j}"
    return form


def _add_empty_checks(form: CaseForm) -> CaseForm:
    """Append an empty check to every turn."""
    for turn in form.turns:
        turn.checks.append(CheckRow(f"{turn.name}-check-{len(turn.checks)}"))
    return form


def _serialize_turn(row: TurnRow) -> dict[str, Json]:
    turn: dict[str, Json] = {
        "checks": [_serialize_check(check) for check in row.checks if check.of]
    }
    if row.say:
        turn["say"] = row.say
    if row.inputs.strip():
        turn["inputs"] = _parse_inputs(row.inputs)
    if row.person and row.person != PERSON:
        turn["person"] = row.person
    if row.conversation:
        turn["conversation"] = row.conversation
    return turn


def _serialize_check(row: CheckRow) -> dict[str, Json]:
    check: dict[str, Json] = {"of": row.of, "operator": row.operator}
    if row.value != "":
        check["value"] = _parse_value(row.value, row.operator)
    return check


def _parse_value(text: str, operator: str) -> Json:
    """Parse the value as JSON for operators that compare numbers or lists; other text stays text."""
    if operator in ("=", "≠", "<", ">", "≤", "≥", "in", "not in", "all of"):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


def _parse_inputs(text: str) -> Json:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(_("The inputs are not valid JSON: %(why)s") % {"why": error}) from None


def _format_value(value: Json) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
