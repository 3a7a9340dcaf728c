"""Usage as CSV: a row for each day and each workflow, API key, person, channel or model."""

import csv
import io
from datetime import date
from typing import Any, Final
from uuid import UUID

from accounts import audit
from accounts.access import Principal
from accounts.spreadsheets import escape_formula
from accounts.tenancy import tenant
from workflows.execution.usage.numbers import Numbers
from workflows.services.usage import labels
from workflows.services.usage.report import Dimension, Key, Selection, load_daily_rows


_NUMBERS: Final = (
    *("count", "failed", "stopped", "average_latency", "median_latency", "p95_latency"),
    *("calls", "prompt_tokens", "completion_tokens", "cost", "unpriced_calls"),
    *("liked", "disliked"),
)


def export_usage(principal: Principal, selection: Selection, dimension: Dimension) -> str:
    """Return the usage as a file for the principal, and record that they took it."""
    text = write_csv(principal, selection, dimension)
    team_id = selection.team_id
    with tenant([team_id]):
        audit.record_action(
            principal,
            team_id,
            "usage.exported",
            f"team:{team_id}",
            by=dimension,
            since=str(selection.since),
            until=str(selection.until),
        )
    return text


def write_csv(principal: Principal, selection: Selection, dimension: Dimension) -> str:
    """Return the usage of each day by the dimension. ``count`` is a number of runs, or of calls for models."""
    rows = load_daily_rows(principal, selection, dimension)
    names = labels.label_rows(principal, selection.team_id, dimension, {key[1:] for key in rows})
    visible = labels.list_visible_people_of(principal, selection.team_id, dimension)
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    count_title = "calls_counted" if dimension == "model" else "runs"
    writer.writerow(["day", dimension, "id", count_title, *_NUMBERS[1:]])
    for key, numbers in sorted(rows.items(), key=lambda row: (row[0][0], names[row[0][1:]])):
        name, id_ = names[key[1:]], _write_id(selection.team_id, dimension, key[1:], visible)
        writer.writerow([*map(_write_cell, (key[0], name, id_)), *_write_numbers(numbers)])
    return buffer.getvalue()


def _write_id(team_id: UUID, dimension: Dimension, key: Key, visible: set[str]) -> str:
    if dimension == "person":
        return labels.hide_person(key[0], visible, team_id)
    return "/".join(str(value) for value in key if value is not None)


def _write_numbers(numbers: Numbers) -> list[Any]:  # Any: cells
    values = [getattr(numbers, name) for name in _NUMBERS]
    return [round(value, 6) if isinstance(value, float) else value for value in values]


def _write_cell(value: date | str) -> str:
    return escape_formula(str(value))
