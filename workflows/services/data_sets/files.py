"""Reads cases from CSV and JSON Lines, and writes them.

CSV: the columns ``query`` and ``expected``; every other column is an input. JSON Lines: an object a line, which is a
whole case if it has ``turns``, ``say`` or ``memories``, or else has ``query``, ``inputs`` and ``expected``; without
``inputs`` it may have the inputs beside the other two.
"""

import csv
import io
import json
from collections.abc import Iterable, Mapping
from typing import Final, Literal

from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.tenancy import tenant
from config.http import strict_json
from workflows.engine.errors import DocumentInvalid
from workflows.engine.language.document import Json
from workflows.engine.testing.cases import Case, build_simple_case, read_case
from workflows.errors import ContentTooLarge, InvalidValue
from workflows.models import DataCase, DataSet
from workflows.services import audit_lines
from workflows.services.data_sets.cases import MAX_CASES, dump_case, make_case


Format = Literal["csv", "jsonl"]
MAX_BYTES: Final = 5_000_000
_OWN: Final = ("query", "expected")
_PARTS_OF_CASES: Final = frozenset({"turns", "say", "memories"})  # that no simple case has


def detect_format(name: str, text: str) -> Format:
    """Return the format by the name of the file, or else by how the text begins."""
    if name.lower().endswith(".csv"):
        return "csv"
    if name.lower().endswith((".jsonl", ".ndjson", ".json")):
        return "jsonl"
    return "jsonl" if text.lstrip()[:1] in ("{", "[") else "csv"


def read_cases(text: str, kind: Format) -> list[Case]:
    """Return the cases of a file. Raises InvalidValue with the number of the first invalid row."""
    if len(text) > MAX_BYTES:
        raise ContentTooLarge(_("The file is larger than 5 MB."), field="file")
    text = text.removeprefix("\ufeff").replace("\x00", "")
    rows = _read_csv(text) if kind == "csv" else _read_jsonl(text)
    cases: list[Case] = []
    for number, row in rows:
        if len(cases) == MAX_CASES:
            raise InvalidValue(_("A dataset can have at most 1000 cases."), field="file")
        try:
            case = _read_case(row)
            dump_case(case)  # checks the size
            cases.append(case)
        except (InvalidValue, DocumentInvalid) as invalid:
            message = _("Row %(n)s: %(problem)s") % {"n": number, "problem": invalid}
            is_too_large = isinstance(invalid, ContentTooLarge)
            raise (ContentTooLarge if is_too_large else InvalidValue)(
                message, field="file"
            ) from None
    if not cases:
        raise InvalidValue(_("The file has no cases."), field="file")
    return cases


def _read_csv(text: str) -> Iterable[tuple[int, Mapping[str, Json]]]:
    reader = csv.DictReader(io.StringIO(text), strict=True)
    try:
        # The first access reads the first line, which may be malformed, too.
        if not reader.fieldnames:
            return
        for row in reader:
            if None in row:
                message = _("Row %(n)s: more cells than columns.") % {"n": reader.line_num}
                raise InvalidValue(message, field="file")
            yield reader.line_num, {name.strip(): value or "" for name, value in row.items()}
    except csv.Error as error:
        # The inner reader has counted the malformed line, too.
        message = _("Row %(n)s: %(problem)s") % {"n": reader.reader.line_num, "problem": error}
        raise InvalidValue(message, field="file") from None


def _read_jsonl(text: str) -> Iterable[tuple[int, Mapping[str, Json]]]:
    if text.lstrip().startswith("["):
        for number, row in enumerate(_parse(text, 1), start=1):
            yield number, _check_object(row, number)
        return
    for number, line in enumerate(text.split("\n"), start=1):  # a text may have other separators
        if line.strip():
            yield number, _check_object(_parse(line, number), number)


def _parse(text: str, number: int) -> Json:
    """Return the value. What the database can't store is refused: NaN, infinities and half characters."""
    try:
        return strict_json.loads(text)
    except (ValueError, RecursionError):
        message = _("Row %(n)s: this is not valid JSON.") % {"n": number}
        raise InvalidValue(message, field="file") from None


def _check_object(row: Json, number: int) -> Mapping[str, Json]:
    if isinstance(row, dict):
        return row
    raise InvalidValue(_("Row %(n)s: a case must be an object.") % {"n": number}, field="file")


def _read_case(row: Mapping[str, Json]) -> Case:
    if row.keys() & _PARTS_OF_CASES:
        return read_case({"name": _name_case(row), **row})
    inputs = row.get("inputs")
    if not isinstance(inputs, dict):
        inputs = {name: value for name, value in row.items() if name not in (*_OWN, "inputs")}
        inputs = {name: value for name, value in inputs.items() if value not in ("", None)}
    expected = row.get("expected")
    return make_case(str(row.get("query") or ""), inputs, None if expected == "" else expected)


def _name_case(row: Mapping[str, Json]) -> str:
    """Return a name for a case without one: what is said last in it, or its inputs."""
    turns = row.get("turns")
    turn = turns[-1] if isinstance(turns, list) and turns else row
    turn = turn if isinstance(turn, Mapping) else {}
    inputs = turn.get("inputs")
    say = str(turn.get("say") or "")
    return build_simple_case(say, inputs if isinstance(inputs, Mapping) else {}).name


def export_cases(principal: Principal, data_set: DataSet, cases: Iterable[DataCase]) -> str:
    """Return the cases as a file for the principal, and record that they took it. The caller has found both."""
    rows = list(cases)
    with tenant([data_set.team_id]):
        audit_lines.record(principal, data_set, "data_set.exported", count=len(rows))
    return write_jsonl(rows)


def write_jsonl(cases: Iterable[DataCase]) -> str:
    """Return the cases as JSON Lines, those of one message or of inputs in the short form."""
    return "".join(json.dumps(_write_case(case), ensure_ascii=False) + "\n" for case in cases)


def _write_case(row: DataCase) -> Json:
    case = read_case(row.spec)
    if case == build_simple_case(row.query, row.inputs, case.expected):
        return {"query": row.query, "inputs": row.inputs, "expected": row.expected}
    return row.spec
