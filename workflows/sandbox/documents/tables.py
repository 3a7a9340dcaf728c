"""Reads sheets and comma-separated texts as Markdown tables; used in a runner only."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import zip_longest
from typing import Any, Final

import openpyxl

from workflows.sandbox.documents.archives import check_archive, open_archive, read_entry
from workflows.sandbox.documents.plain import read_text


MAX_SHEETS: Final = 200
MAX_ROWS: Final = 200_000  # of a sheet, empty ones included
MAX_COLUMNS: Final = 500
MAX_TABLE_CHARACTERS: Final = 1_200_000  # of a document; more than a reply has
_FORMULA: Final = re.compile(rb"<(?:\w+:)?f[ >/]")
_DELIMITERS: Final = (",", ";", "\t", "|")


def read_xlsx(content: bytes) -> str:
    """Return each sheet as a table.

    Formulas are not computed: a cell has the value that was saved with it, or its formula if none was, as in a sheet
    that a program wrote.
    """
    sheets = _load_sheets(content, data_only=True)
    formulas = (
        _load_sheets(content, data_only=False) if _has_formulas(content) else [None] * len(sheets)
    )
    parts: list[str] = []
    size = 0
    for sheet, formula_sheet in zip(sheets, formulas, strict=True):
        rows = _iter_rows(sheet)
        if formula_sheet is not None:
            rows = map(_fill_in, rows, _iter_rows(formula_sheet))
        table = build_table(_limit(rows), MAX_TABLE_CHARACTERS - size)
        if table:
            parts.append(f"## {_clean(sheet.title)}\n\n{table}")
            size += len(table)
        if size >= MAX_TABLE_CHARACTERS:
            break
    return "\n\n".join(parts)


def _load_sheets(content: bytes, *, data_only: bool) -> list[Any]:
    workbook = openpyxl.load_workbook(
        check_archive(content), read_only=True, data_only=data_only, keep_links=False
    )
    return list(workbook.worksheets[:MAX_SHEETS])


def _has_formulas(content: bytes) -> bool:
    """Return whether any sheet has a formula, so that sheets without one are not read twice."""
    with open_archive(content) as archive:
        names = [name for name in archive.namelist() if name.startswith("xl/worksheets/")]
        return any(_FORMULA.search(read_entry(archive, name)) for name in names)


def _iter_rows(sheet: Any) -> Iterator[list[object]]:
    if hasattr(sheet, "reset_dimensions"):
        sheet.reset_dimensions()  # the size that a file claims is not believed
    return (list(row[:MAX_COLUMNS]) for row in sheet.iter_rows(values_only=True))


def _fill_in(values: list[object], formulas: list[object]) -> list[object]:
    """Return the values of a row, with the formulas of cells that have no value."""
    return [
        getattr(formula, "text", formula) if value is None else value
        for value, formula in zip_longest(values, formulas)
    ]


def read_csv(content: bytes) -> str:
    text = read_text(content)
    csv.field_size_limit(1_000_000)
    first = text[:10_000].partition("\n")[0]
    delimiter = max(_DELIMITERS, key=first.count)
    rows = csv.reader(io.StringIO(text), delimiter=delimiter)
    return build_table(_limit(row[:MAX_COLUMNS] for row in rows), MAX_TABLE_CHARACTERS)


def build_table(rows: Iterable[Sequence[object]], limit: int = MAX_TABLE_CHARACTERS) -> str:
    """Return rows as a Markdown table, whose first row is the head; empty rows and columns at the end are left out."""
    texts: list[list[str]] = []
    size = 0
    for row in rows:
        cells = [_clean(cell) for cell in row]
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            texts.append(cells)
            size += sum(map(len, cells)) + 3 * len(cells)
        if size > limit:
            break
    if not texts:
        return ""
    width = max(map(len, texts))
    lines = [_format(row, width) for row in texts]
    return "\n".join([lines[0], _format(["---"] * width, width), *lines[1:]])


def _limit(rows: Iterable[Sequence[object]]) -> Iterator[Sequence[object]]:
    for _number, row in zip(range(MAX_ROWS), rows, strict=False):
        yield row


def _format(cells: list[str], width: int) -> str:
    # Missing cells are written once each only up to the width of a usual table.
    padded = cells + [""] * (min(width, 50) - len(cells))
    return f"| {' | '.join(padded)} |"


def _clean(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime) and value.time() == datetime.min.time():
        value = value.date()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    return " ".join(str(value)[:32_767].split()).replace("|", "\\|")
