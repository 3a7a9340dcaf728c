"""Reads cases from CSV and JSON Lines, and writes them.

CSV: the columns ``query`` and ``expected``; every other column is an input. JSON Lines: an object with ``query``,
``inputs`` and ``expected`` a line; an object without ``inputs`` may have the inputs beside the other two.
"""

import csv
import io
import json
from collections.abc import Iterable, Mapping
from typing import Final, Literal

from django.utils.translation import gettext as _

from workflows.engine.language.document import Json
from workflows.errors import InvalidValue
from workflows.models import DataCase
from workflows.services.data_sets.data_sets import MAX_CASES, CaseValues


Format = Literal["csv", "jsonl"]
MAX_BYTES: Final = 5_000_000
_OWN: Final = ("query", "expected")


def detect_format(name: str, text: str) -> Format:
    """Return the format by the name of the file, or else by how the text begins."""
    if name.lower().endswith(".csv"):
        return "csv"
    if name.lower().endswith((".jsonl", ".ndjson", ".json")):
        return "jsonl"
    return "jsonl" if text.lstrip()[:1] in ("{", "[") else "csv"


def read_cases(text: str, kind: Format) -> list[CaseValues]:
    """Return the cases of a file. Raises InvalidValue with the number of the first invalid row."""
    text = text.removeprefix("\ufeff").replace("\x00", "")
    rows = _read_csv(text) if kind == "csv" else _read_jsonl(text)
    cases: list[CaseValues] = []
    for number, row in rows:
        if len(cases) == MAX_CASES:
            raise InvalidValue(_("A dataset can have at most 1000 cases."), field="file")
        try:
            cases.append(_read_case(row).clean())
        except InvalidValue as invalid:
            message = _("Row %(n)s: %(problem)s") % {"n": number, "problem": invalid}
            raise InvalidValue(message, field="file") from None
    if not cases:
        raise InvalidValue(_("The file has no cases."), field="file")
    return cases


def _read_csv(text: str) -> Iterable[tuple[int, Mapping[str, Json]]]:
    reader = csv.DictReader(io.StringIO(text), strict=True)
    if not reader.fieldnames:
        return
    try:
        for row in reader:
            if None in row:
                message = _("Row %(n)s: more cells than columns.") % {"n": reader.line_num}
                raise InvalidValue(message, field="file")
            yield reader.line_num, {name.strip(): value or "" for name, value in row.items()}
    except csv.Error as error:
        message = _("Row %(n)s: %(problem)s") % {"n": reader.line_num, "problem": error}
        raise InvalidValue(message, field="file") from None


def _read_jsonl(text: str) -> Iterable[tuple[int, Mapping[str, Json]]]:
    if text.lstrip().startswith("["):
        for number, row in enumerate(_parse(text, 1), start=1):
            yield number, _check_object(row, number)
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            yield number, _check_object(_parse(line, number), number)


def _parse(text: str, number: int) -> Json:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        message = _("Row %(n)s: this is not valid JSON.") % {"n": number}
        raise InvalidValue(message, field="file") from None


def _check_object(row: Json, number: int) -> Mapping[str, Json]:
    if isinstance(row, dict):
        return row
    raise InvalidValue(_("Row %(n)s: a case must be an object.") % {"n": number}, field="file")


def _read_case(row: Mapping[str, Json]) -> CaseValues:
    inputs = row.get("inputs")
    if not isinstance(inputs, dict):
        inputs = {name: value for name, value in row.items() if name not in (*_OWN, "inputs")}
        inputs = {name: value for name, value in inputs.items() if value not in ("", None)}
    expected = row.get("expected")
    return CaseValues(str(row.get("query") or ""), inputs, None if expected == "" else expected)


def write_jsonl(cases: Iterable[DataCase]) -> str:
    rows = (
        {"query": case.query, "inputs": case.inputs, "expected": case.expected} for case in cases
    )
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
