"""Fields of a node's form that belong to another one: a unit beside its number, and what only some choices need."""

import re
from typing import Any

import pytest
from django.urls import reverse

from tests.factories.workflows import document, make_workflow
from tests.support.cases import for_each
from tests.support.cast import Person


pytestmark = pytest.mark.django_db

# From a field's block to the next one's.
BLOCK = re.compile(r'<div\s+class="insp-field[^>]*data-field="([^"]+)"[^>]*>')


def show_form(person: Person, **data: Any) -> str:
    source = document()
    source["nodes"].append({"id": "node", "data": {"title": "Node", **data}})
    workflow = make_workflow(person, source=source)
    page = person.client.get(reverse("workflows:node", args=[workflow.pk, "node"]))
    return str(page.content.decode())


def list_hidden(page: str) -> set[str]:
    return {match[1] for match in BLOCK.finditer(page) if re.search(r"\shidden\b", match[0])}


@for_each(
    "data, number, unit",
    [
        ({"type": "human-input", "timeout": 2, "timeout_unit": "day"}, "timeout", "timeout_unit"),
        ({"type": "delay", "amount": 2, "unit": "days"}, "amount", "unit"),
    ],
)
def test_unit_is_beside_its_number(alice: Person, data: dict[str, Any], number: str, unit: str):
    page = show_form(alice, **data)

    [beside] = re.findall(r'<div class="insp-amount">(.*?)</select>', page, re.DOTALL)
    assert BLOCK.findall(beside) == [number, unit]
    assert BLOCK.findall(page).count(unit) == 1
    assert f'value="{data[unit]}" selected' in beside


@for_each(
    "frequency, hidden",
    [
        ("hourly", {"time", "weekdays", "monthly_days"}),
        ("daily", {"weekdays", "monthly_days", "on_minute"}),
        ("weekly", {"monthly_days", "on_minute"}),
        ("monthly", {"weekdays", "on_minute"}),
        (None, {"weekdays", "monthly_days", "on_minute"}),
    ],
)
def test_schedule_asks_only_for_what_its_repetition_needs(
    alice: Person, frequency: str | None, hidden: set[str]
):
    repeat = {} if frequency is None else {"frequency": frequency}

    page = show_form(alice, type="trigger-schedule", mode="visual", **repeat)

    assert list_hidden(page) == {f"visual_config.{name}" for name in hidden} | {"cron_expression"}
