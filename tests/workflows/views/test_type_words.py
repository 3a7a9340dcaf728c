"""What the inspector calls the types of inputs and variables."""

import re

import pytest
from django.urls import reverse
from django.utils import translation

from tests.factories.workflows import document, make_workflow
from tests.support.markup import markup_of
from workflows.templatetags.type_words import WORDS, get_type_label
from workflows.views.editor.inspector.fields import FORM_TYPES, TYPES


def test_every_type_offered_has_a_word():
    assert {*FORM_TYPES, *TYPES} - WORDS.keys() == set()


def test_type_of_a_plugin_stays_as_it_is_written():
    assert get_type_label("weather") == "weather"


@pytest.mark.django_db
def test_type_of_an_input_is_chosen_by_its_word_and_told_by_its_name(alice):
    workflow = make_workflow(alice, source=document(type="text-input"))

    page = alice.client.get(reverse("workflows:node", args=[workflow.pk, "start"]))

    options = re.findall(
        r'<option value="([^"]+)" title="([^"]+)" ?(selected)?>([^<]+)<', markup_of(page)
    )
    assert ("text-input", "text-input", "selected", "Short text") in options
    assert ("paragraph", "paragraph", "", "Paragraph") in options


@pytest.mark.parametrize("name", sorted(WORDS))
def test_chinese_readers_get_a_word_of_theirs(name: str):
    with translation.override("zh-hans"):
        word = get_type_label(name)

    assert word != name
    assert not word.isascii() or name == "json_object"
