"""Converts a test case to form fields and back.

Rows are numbered (``turn-0-check-1-of``). Empty rows are ignored, so that a form can always end with one to fill in.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml
from django.utils.translation import gettext as _

from config.http import strict_json
from workflows.engine.language.document import Json
from workflows.engine.language.dsl.yaml_reading import read_yaml
from workflows.engine.language.problems import Problem
from workflows.engine.testing.cases import PERSON
from workflows.views.editor.debugging.check_fields import OTHER, describe_place, list_operators
from workflows.views.runs.memory.recalled import SCOPE_LABELS


MAX_ROWS = 50
# The parts of a turn that have no fields, and go through the form as they are.
REST_OF_TURN = ("answers", "group")
# Where a memory before the first turn may be; that of a run begins empty.
SCOPES = ("user", "global", "workflow", "conversation")


@dataclass
class CheckRow:
    """The fields of a check; ``name`` is the prefix of their names, and ``error`` what is missing in them."""

    name: str
    of: str = ""
    operator: str = "contains"
    value: str = ""
    error: str = ""

    @property
    def is_empty(self) -> bool:
        return not self.of and not self.value.strip()


@dataclass
class TurnRow:
    """The fields of a turn with its checks; ``name`` is the prefix of their names, and ``rest`` JSON without fields."""

    name: str
    say: str = ""
    inputs: str = ""
    person: str = ""
    conversation: str = ""
    checks: list[CheckRow] = field(default_factory=list)
    rest: str = ""


@dataclass
class MemoryRow:
    """The fields of a memory that exists before the first turn; ``name`` is the prefix of their names."""

    name: str
    text: str = ""
    scope: str = "user"
    person: str = ""
    key: str = ""


@dataclass
class CaseForm:
    """The form of a test case; ``more`` is YAML with pins, variables and the memories that are no plain texts.

    ``run_id`` is the run from which the form was filled.
    """

    name: str = ""
    turns: list[TurnRow] = field(default_factory=list)
    memories: list[MemoryRow] = field(default_factory=list)
    expected: str = ""
    more: str = ""
    run_id: str = ""
    is_unfinished: bool = False

    scopes = tuple((scope, SCOPE_LABELS[scope]) for scope in SCOPES)

    @property
    def operators(self) -> list[tuple[str, str]]:
        return list_operators()

    def place_errors(self, problems: Iterable[Problem]) -> list[str]:
        """Put each problem of a check to its row, and return what is wrong elsewhere."""
        checks = {check.name: check for turn in self.turns for check in turn.checks}
        others = []
        for problem in problems:
            message, row = describe_place(problem)
            if row in checks:
                checks[row].error = message
            else:
                others.append(message)
        return others

    def build_spec(self) -> dict[str, Json]:
        """Return the case as JSON for the engine to check; raise ValueError for text that is not JSON or YAML."""
        more = read_yaml(self.more) if self.more.strip() else {}
        if not isinstance(more, dict):
            raise ValueError(_("Memories, pins and variables must be a YAML mapping."))
        memories = [_serialize_memory(row, i) for i, row in enumerate(self.memories) if row.text]
        others = more.get("memories", [])
        if memories and not isinstance(others, list):
            raise ValueError(_("Memories must be a YAML list."))
        spec: dict[str, Json] = {
            **more,
            "name": self.name,
            "turns": [_serialize_turn(turn) for turn in self.turns],
        }
        if memories:
            spec["memories"] = [*memories, *others]
        if (expected := read_expected(self.expected)) is not None:
            spec["expected"] = expected
        return spec


def read_expected(text: str) -> Json:
    """Return an object or a list as JSON, and everything else as text; None without a text."""
    text = text.strip()
    if text[:1] in ("{", "["):
        try:
            return strict_json.loads(text)
        except ValueError:
            return text
    return text or None


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
            rest=json.dumps({key: turn[key] for key in REST_OF_TURN if turn.get(key)}),
        )
        for i, turn in enumerate(spec.get("turns", ()))
    ]  # fmt: skip
    plain = [memory for memory in spec.get("memories", ()) if _is_plain(memory)]
    memories = [
        MemoryRow(
            f"memory-{i}",
            memory["value"],
            memory.get("scope", "user"),
            memory.get("person", ""),
            memory["key"],
        )
        for i, memory in enumerate(plain)
    ]
    other_parts = {key: spec[key] for key in ("pins", "variables") if spec.get(key)}
    if others := [memory for memory in spec.get("memories", ()) if not _is_plain(memory)]:
        other_parts = {"memories": others, **other_parts}
    more = yaml.safe_dump(other_parts, allow_unicode=True, sort_keys=False) if other_parts else ""
    expected = _format_value(spec.get("expected"))
    return _add_empty_checks(CaseForm(spec.get("name", ""), turns, memories, expected, more))


def _is_plain(memory: Mapping[str, Any]) -> bool:
    """Return whether a memory has no more than the form has fields for."""
    is_text = isinstance(memory.get("value"), str) and memory.get("key")
    return bool(is_text) and memory.keys() <= {"value", "scope", "person", "key"}


def read_form(data: Mapping[str, str]) -> CaseForm:
    """Read the submitted form; with ``add`` or ``drop``, a row is added or dropped and the form is not saved yet."""
    turns = [_read_turn(data, f"turn-{i}") for i in _list_row_numbers(data, "turn-{}-person")]
    memories = [
        _read_memory(data, f"memory-{i}") for i in _list_row_numbers(data, "memory-{}-text")
    ]
    form = CaseForm(
        data.get("name", "").strip(),
        turns,
        memories,
        data.get("expected", ""),
        data.get("more", ""),
        data.get("run", ""),
    )
    form.is_unfinished = "add" in data or "drop" in data
    if data.get("add") == "turn" and len(turns) < MAX_ROWS:
        turns.append(TurnRow(""))
    if data.get("add") == "memory" and len(memories) < MAX_ROWS:
        memories.append(MemoryRow(""))
    dropped = data.get("drop", "")
    if dropped.isdecimal() and int(dropped) < len(turns) and len(turns) > 1:
        del turns[int(dropped)]
    _number_rows(form)
    return _add_empty_checks(form) if form.is_unfinished else form


def _read_memory(data: Mapping[str, str], name: str) -> MemoryRow:
    return MemoryRow(
        name,
        data[f"{name}-text"].strip(),
        data.get(f"{name}-scope", "user"),
        data.get(f"{name}-person", "").strip(),
        data.get(f"{name}-key", "").strip(),
    )


def _read_turn(data: Mapping[str, str], name: str) -> TurnRow:
    return TurnRow(
        name,
        say=data.get(f"{name}-say", ""),
        inputs=data.get(f"{name}-inputs", ""),
        person=data[f"{name}-person"].strip(),
        conversation=data.get(f"{name}-conversation", "").strip(),
        checks=[
            check
            for j in _list_row_numbers(data, f"{name}-check-{{}}-of")
            if not (check := _read_check(data, f"{name}-check-{j}")).is_empty
        ],
        rest=data.get(f"{name}-rest", ""),
    )


def _read_check(data: Mapping[str, str], name: str) -> CheckRow:
    subject = data[f"{name}-of"].strip()
    if subject == OTHER:
        subject = data.get(f"{name}-path", "").strip()
    operator = data.get(f"{name}-operator", "contains")
    return CheckRow("", subject, operator, data.get(f"{name}-value", ""))


def _list_row_numbers(data: Mapping[str, str], pattern: str) -> range:
    """Return the numbers of the rows up to the first gap."""
    return range(next((i for i in range(MAX_ROWS) if pattern.format(i) not in data), MAX_ROWS))


def _number_rows(form: CaseForm) -> CaseForm:
    for i, turn in enumerate(form.turns):
        turn.name = f"turn-{i}"
        for j, check in enumerate(turn.checks):
            check.name = f"turn-{i}-check-{j}"
    for i, memory in enumerate(form.memories):
        memory.name = f"memory-{i}"
    return form


def _add_empty_checks(form: CaseForm) -> CaseForm:
    """Append an empty check to every turn."""
    for turn in form.turns:
        turn.checks.append(CheckRow(f"{turn.name}-check-{len(turn.checks)}"))
    return form


def _serialize_memory(row: MemoryRow, number: int) -> dict[str, Json]:
    memory: dict[str, Json] = {"key": row.key or f"memory-{number + 1}", "value": row.text}
    if row.scope != "user":
        memory["scope"] = row.scope
    if row.person and row.person != PERSON:
        memory["person"] = row.person
    return memory


def _serialize_turn(row: TurnRow) -> dict[str, Json]:
    turn: dict[str, Json] = {
        "checks": [_serialize_check(check) for check in row.checks if not check.is_empty]
    }
    turn |= _parse_rest(row.rest)
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
            return strict_json.loads(text)
        except ValueError:
            return text
    return text


def _parse_rest(text: str) -> dict[str, Json]:
    """Return the parts of a turn without fields. The form wrote the text, so that anything else counts as none."""
    try:
        rest = strict_json.loads(text or "{}")
    except ValueError:
        return {}
    return {key: rest[key] for key in REST_OF_TURN if key in rest} if isinstance(rest, dict) else {}


def _parse_inputs(text: str) -> Json:
    try:
        return strict_json.loads(text)
    except ValueError as error:
        raise ValueError(_("The inputs are not valid JSON: %(why)s") % {"why": error}) from None


def _format_value(value: Json) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
