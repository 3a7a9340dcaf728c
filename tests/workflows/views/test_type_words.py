"""What the inspector calls the types of inputs and variables."""

import re

import pytest
from django.urls import reverse
from django.utils import translation

from config.env import ROOT
from tests.factories.workflows import document, make_workflow
from tests.support.cases import for_each
from tests.support.markup import markup_of
from workflows.templatetags.type_words import WORDS, get_type_label, name_field_type
from workflows.views.editor.inspector.fields import ANSWER_TYPES, FORM_TYPES, TYPES


def test_every_type_offered_has_a_word():
    assert {*FORM_TYPES, *TYPES} - WORDS.keys() == set()


@for_each("name", [*FORM_TYPES, *ANSWER_TYPES])
def test_types_of_fields_are_all_written_with_a_capital(name: str):
    with translation.override("en"):
        label = name_field_type(name)

    assert label[0].isupper()


def test_type_of_a_plugin_stays_as_it_is_written():
    assert get_type_label("weather") == "weather"


def test_no_page_shows_a_type_by_its_name_in_the_document():
    raw = re.compile(r">\s*\{\{ (?:[a-z_.]+\.)?type \}\}")
    texts = {path.name: path.read_text() for path in (ROOT / "templates").rglob("*.html")}

    assert {name for name, text in texts.items() if raw.search(text)} == set()
    assert raw.search("<span>{{ input.type }}</span>")


@pytest.mark.django_db
def test_type_of_an_input_is_chosen_by_its_word_and_told_by_its_name(alice):
    workflow = make_workflow(alice, source=document(type="text-input"))

    page = alice.client.get(reverse("workflows:node", args=[workflow.pk, "start"]))

    options = re.findall(
        r'<option value="([^"]+)" title="([^"]+)" ?(selected)?>([^<]+)<', markup_of(page)
    )
    assert ("text-input", "text-input", "selected", "Short text") in options
    assert ("paragraph", "paragraph", "", "Paragraph") in options


@for_each("name", sorted(WORDS))
def test_chinese_readers_get_a_word_of_theirs(name: str):
    with translation.override("zh-hans"):
        word = get_type_label(name)

    assert word != name
    assert not word.isascii() or name == "json_object"


@pytest.mark.django_db
def test_input_without_a_name_is_a_problem_at_its_field(alice):
    nameless = {"variable": "", "type": "text-input", "label": "", "required": True}
    source = document()
    source["nodes"][0]["data"]["variables"].append(nameless)
    workflow = make_workflow(alice, source=source)

    panel = markup_of(alice.client.get(reverse("workflows:node", args=[workflow.pk, "start"])))

    assert "variables.1.variable" in panel
    assert "Name: enter a value" in panel
