"""The forms of memory: durations with a unit, metadata in rows, and memory as one switch with its details folded."""

import json
import re
from html import unescape
from typing import Any

import pytest

from tests.factories.workflows import make_workflow
from tests.workflows.views.test_inspector import document, fragment


@pytest.mark.parametrize(
    ("seconds", "amount", "unit"),
    [(172_800, "2", "86400"), (5_400, "90", "60"), (7_200, "2", "3600"), (61, "61", "1"), (None, "", "86400")],
)  # fmt: skip
def test_expiry_is_shown_in_the_largest_unit_that_fits(alice, seconds, amount, unit) -> None:
    settings = {"scope": "user", "value_selector": ["start", "text"], "ttl": seconds}

    html = fragment(alice, make_workflow(alice, "Expiry", document("memory-store", **settings)))

    [control] = re.findall(r'<input[^>]*data-as="duration"[^>]*>', html)
    [units] = re.findall(r"<select[^>]*data-duration-unit.*?</select>", html, re.S)
    assert f'value="{amount}"' in control
    assert re.findall(r'value="(\d+)" selected', units) == [unit]
    assert ('value="1"' in units) is (unit == "1")


@pytest.mark.parametrize(
    ("kind", "field", "has_operators"),
    [("memory-store", "metadata", False), ("memory-recall", "filter", True), ("llm", "enhanced_memory.filter", True)],
)  # fmt: skip
def test_metadata_has_rows_beside_its_json(alice, kind, field, has_operators) -> None:
    html = fragment(alice, make_workflow(alice, "Rows", document(kind)))

    [start] = [match.start() for match in re.finditer(f'data-field="{field}"', html)]
    block = html[start : html.index("</textarea>", start)]
    assert "data-metadata-rows" in block
    assert ("data-metadata-operator" in block) is has_operators
    assert 'data-as="json"' in block


@pytest.mark.parametrize("kind", ["llm", "agent"])
def test_memory_is_one_switch_that_brings_its_settings(alice, kind) -> None:
    html = fragment(alice, make_workflow(alice, "Switch", document(kind)))

    [switch] = re.findall(r'<input[^>]*id="f-enhanced-memory-enabled"[^>]*>', html)
    [turned] = re.findall(r'data-turns="([^"]*)"', switch)
    settings: dict[str, Any] = json.loads(unescape(turned))
    assert {name: settings[name] for name in ("scope", "query_selector")} == {
        "scope": "user",
        "query_selector": ["start", "text"],
    }
    assert "include_recent" not in settings  # what is related, or nothing
    assert "data-drops" in switch
    body = html[html.index('data-section="enhanced_memory"') :]
    assert body.index("<details") < body.index('data-field="enhanced_memory.scope"')


def test_memory_without_a_scope_is_shown_as_the_engine_reads_it(alice) -> None:
    html = fragment(
        alice, make_workflow(alice, "Old", document("llm", enhanced_memory={"enabled": True}))
    )

    start = html.index('id="f-enhanced-memory-scope"')
    assert 'value="conversation" selected' in html[start : html.index("</select>", start)]


def test_rare_settings_are_folded_unless_they_are_used(alice) -> None:
    def is_open(**data: Any) -> bool:
        html = fragment(alice, make_workflow(alice, "Rare", document("memory-recall", **data)))
        [group] = re.findall(r'<details[^>]*data-group="advanced"[^>]*>', html)
        return "open" in group

    assert is_open(scope="user") is False
    assert is_open(scope="user", filter={"a": 1}) is True


def test_choice_of_a_scope_has_one_sentence_and_the_docs_have_all(alice) -> None:
    html = fragment(alice, make_workflow(alice, "Scopes", document("memory-store", scope="user")))

    form, docs = html.split('data-tab-body="docs"')
    [hints] = re.findall(r'id="f-scope-help" data-choice-hints>(.*?)</p>', form, re.S)
    shown = re.findall(r'<span data-choice="(\w+)"\s*>([^<]*)</span>', hints)
    assert shown == [("user", "One memory per user, across all workflows.")]
    hidden = re.findall(r'<span data-choice="(\w+)" hidden>', hints)
    assert hidden == ["conversation", "global", "workflow", "run"]
    assert (
        "Workflow: one memory per group ID" in form,
        "Workflow: one memory per group ID" in docs,
    ) == (
        False,
        True,
    )
