"""The form of an agent: its tools as chips, its memory as a switch, and what few need below *Advanced*."""

import json
import re
from typing import Any

from django.urls import reverse

from tests.factories.workflows import make_provider, make_workflow, within
from tests.support.cast import Cast, Person
from tests.support.markup import markup_of
from workflows.engine.nodes.agent.agent import Agent
from workflows.models import ModelProvider


AGENT: dict[str, Any] = {
    "type": "agent",
    "model": {"provider": "default", "name": "default"},
    "tools": [
        {"source": "builtin", "name": "calculator", "needs_approval": True},
        {"source": "openapi", "provider": "gone", "name": "search"},
        {"source": "builtin", "name": ""},
    ],
    "memory_tools": {"recall": ["user"]},
}


def build_document(**data: Any) -> dict[str, Any]:
    return {
        "version": "0.1.0",
        "nodes": [
            {"id": "start", "data": {"type": "start"}},
            {"id": "n1", "data": {**AGENT, **data}},
        ],
        "edges": [{"id": "e1", "source": "start", "target": "n1"}],
    }


def read_form(person: Person, **data: Any) -> str:
    workflow = make_workflow(person, "Agent", build_document(**data))
    return markup_of(person.client.get(reverse("workflows:node", args=[workflow.pk, "n1"])))


def list_tags(html: str, pattern: str) -> list[str]:
    return re.findall(pattern, html, re.DOTALL)


def test_tools_are_chips_with_icon_title_and_description(alice: Person) -> None:
    html = read_form(alice)

    [tools] = list_tags(html, r"<div[^>]*insp-tool-list.*?<template>")
    chips = tools.split('<details class="insp-tool"')[1:]
    icons = [list_tags(chip, r'icons[^"]*\.svg[^"]*#([\w-]+)"')[0] for chip in chips]
    titles = [list_tags(chip, r"<b data-tool-title[^>]*>([^<]*)")[0].strip() for chip in chips]
    hints = [list_tags(chip, r"data-tool-hint[^>]*>([^<]*)")[0].strip() for chip in chips]
    assert titles == ["Calculator", "search", "No tool chosen"]
    assert icons == ["usage", "http", "tool"]
    assert hints[0].startswith("Calculate an arithmetic expression")
    assert hints[1:] == ["Not connected", "It is left out."]


def test_source_and_name_of_a_tool_are_folded_unless_it_is_not_connected(alice: Person) -> None:
    html = read_form(alice)

    [tools] = list_tags(html, r"<div[^>]*insp-tool-list.*?<template>")
    folds = list_tags(tools, r'<details class="insp-more"([^>]*)>')
    assert ["open" in fold for fold in folds] == [False, True, False]


def test_list_of_tools_is_searched_and_each_has_icon_and_description(alice: Person) -> None:
    html = read_form(alice)

    [picker] = list_tags(html, r"<select[^>]*data-tool-picker.*?</select>")
    assert 'data-searchable="Search tools"' in picker
    options = list_tags(picker, r"<option value=\"(\{.*?)</option>")
    assert len(options) > 2
    assert all("data-icon" in option and "data-hint" in option for option in options)


def test_memory_is_one_switch_and_the_table_of_rights_is_folded(alice: Person) -> None:
    on = read_form(alice)
    off = read_form(alice, memory_tools={})

    [switch] = list_tags(on, r"<input[^>]*data-memory-switch[^>]*>")
    assert " checked" in switch
    assert " checked" not in list_tags(off, r"<input[^>]*data-memory-switch[^>]*>")[0]
    [box] = list_tags(on, r"<div[^>]*data-memory-tools.*?<table")
    assert box.index("data-memory-switch") < box.index("<details")
    initial = list_tags(box, r'data-initial="([^"]*)"')[0].replace("&quot;", '"')
    assert json.loads(initial) == {"recall": ["user"], "remember": ["user"]}


def test_what_few_need_is_below_advanced(alice: Person) -> None:
    html = read_form(alice)

    shown, advanced = html.split('data-group="advanced"', 1)
    names = [field.name for field in Agent.fields if not field.is_advanced]
    assert {"instruction", "query", "tools", "memory_tools"} <= {*names}
    assert all(f'data-field="{name}"' in shown for name in names)
    assert 'data-field="merge"' in advanced
    assert 'data-field="merge"' not in shown


def test_model_is_one_searchable_list_with_logos_and_default_once(alice: Person) -> None:
    make_provider(alice, name="openai")
    with within(alice):
        ModelProvider.objects.unscoped().update(model_names=["gpt-4o", "own"])

    html = read_form(alice)

    [model] = list_tags(html, r'<div[^>]*data-field="model".*?</select>')
    assert 'data-searchable="Search models"' in model
    labels = [label.strip() for label in list_tags(model, r"<option[^>]*>([^<]*)")]
    assert labels == ["Team default", "Offline demo model", "gpt-4o", "own"]
    assert list_tags(model, r'<optgroup[^>]*label="([^"]*)"') == ["OpenAI"]
    assert 'data-icon="logo-openai"' in model
    assert 'data-hint="128K context"' in model


def test_model_that_is_not_offered_stays_selected(alice: Person) -> None:
    model = {"provider": "langgenius/acme/acme", "name": "large"}

    html = read_form(alice, model={**model, "fallback": {"provider": "none", "name": "none"}})

    selected = list_tags(html, r"<option[^>]*\sselected[^>]*>([^<]*)</option>")
    texts = [text.strip() for text in selected]
    assert "acme/large" in texts
    assert "No fallback model" in texts


def test_viewer_sees_the_models_that_everybody_has(cast: Cast) -> None:
    make_provider(cast.alice, name="openai")
    workflow = make_workflow(cast.alice, "Agent", build_document())

    html = markup_of(cast.vic.client.get(reverse("workflows:node", args=[workflow.pk, "n1"])))

    assert "Team default" in html
    assert "logo-openai" not in html
