"""A test case as form fields, and form fields as a test case.

Rows are numbered (``turn-0-check-1-of``); a row left empty is no row, so that there is always one more
to fill in, with and without scripts.
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


MOST = 50

# What a check may look at, as people first need it; any path inside is typed after it.
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
    name: str
    of: str = ""
    operator: str = "contains"
    value: str = ""


@dataclass
class TurnRow:
    name: str
    say: str = ""
    inputs: str = ""
    person: str = ""
    conversation: str = ""
    checks: list[CheckRow] = field(default_factory=list)


@dataclass
class CaseForm:
    """``more`` is what the form doesn't show in fields (seed memories, pins, variables), as YAML."""

    name: str = ""
    turns: list[TurnRow] = field(default_factory=list)
    more: str = ""
    grows: bool = False

    operators = tuple(OPERATORS)

    def spec(self) -> dict[str, Json]:
        """Raises ValueError for what is no JSON or YAML; what it means is the engine's to check."""
        more = read_yaml(self.more) if self.more.strip() else {}
        if not isinstance(more, dict):
            raise ValueError(_("Memories, pins and variables must be a YAML mapping."))
        return {**more, "name": self.name, "turns": [_turn(turn) for turn in self.turns]}


def form_of(spec: Mapping[str, Any]) -> CaseForm:
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
                    _written(check.get("value")),
                )
                for j, check in enumerate(turn.get("checks", ()))
            ],
        )
        for i, turn in enumerate(spec.get("turns", ()))
    ]  # fmt: skip
    rest = {key: spec[key] for key in ("memories", "pins", "variables") if spec.get(key)}
    more = yaml.safe_dump(rest, allow_unicode=True, sort_keys=False) if rest else ""
    return _with_room(CaseForm(spec.get("name", ""), turns, more))


def read_form(data: Mapping[str, str]) -> CaseForm:
    """What was sent; with ``add`` or ``drop`` it is a form still being filled in, not one to save."""
    turns = [_read_turn(data, f"turn-{i}") for i in _rows(data, "turn-{}-person")]
    form = CaseForm(data.get("name", "").strip(), turns, data.get("more", ""))
    form.grows = "add" in data or "drop" in data
    if data.get("add") == "turn" and len(turns) < MOST:
        turns.append(TurnRow(""))
    gone = data.get("drop", "")
    if gone.isdecimal() and int(gone) < len(turns) and len(turns) > 1:
        del turns[int(gone)]
    return _with_room(_numbered(form)) if form.grows else form


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
            for row in (f"{name}-check-{j}" for j in _rows(data, f"{name}-check-{{}}-of"))
            if data[f"{row}-of"].strip()
        ],
    )


def _rows(data: Mapping[str, str], pattern: str) -> range:
    """Numbered fields, as many as follow each other without a gap."""
    return range(next((i for i in range(MOST) if pattern.format(i) not in data), MOST))


def _numbered(form: CaseForm) -> CaseForm:
    for i, turn in enumerate(form.turns):
        turn.name = f"turn-{i}"
        for j, check in enumerate(turn.checks):
            check.name = f"turn-{i}-check-{j}"
    return form


def _with_room(form: CaseForm) -> CaseForm:
    """One empty check at the end of every turn."""
    for turn in form.turns:
        turn.checks.append(CheckRow(f"{turn.name}-check-{len(turn.checks)}"))
    return form


def _turn(row: TurnRow) -> dict[str, Json]:
    turn: dict[str, Json] = {"checks": [_check(check) for check in row.checks if check.of]}
    if row.say:
        turn["say"] = row.say
    if row.inputs.strip():
        turn["inputs"] = _json(row.inputs)
    if row.person and row.person != PERSON:
        turn["person"] = row.person
    if row.conversation:
        turn["conversation"] = row.conversation
    return turn


def _check(row: CheckRow) -> dict[str, Json]:
    check: dict[str, Json] = {"of": row.of, "operator": row.operator}
    if row.value != "":
        check["value"] = _value(row.value, row.operator)
    return check


def _value(text: str, operator: str) -> Json:
    """A number where numbers are compared, a list where one is asked for; text is text otherwise."""
    if operator in ("=", "≠", "<", ">", "≤", "≥", "in", "not in", "all of"):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


def _json(text: str) -> Json:
    try:
        return json.loads(text)
    except ValueError as wrong:
        raise ValueError(_("The inputs are not valid JSON: %(why)s") % {"why": wrong}) from None


def _written(value: Json) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
