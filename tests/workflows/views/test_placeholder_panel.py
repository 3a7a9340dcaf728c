"""The panel of a node whose type is missing: where it comes from, how it is replaced, and how a pin of it begins."""

import json
from html import unescape
from typing import Any

import pytest
from django.urls import reverse

from tests.factories.workflows import document, make_workflow
from tests.support.cast import Person
from workflows.models import Workflow
from workflows.services.debugging.pins import pin_node


pytestmark = pytest.mark.django_db


def make(person: Person, **data: Any) -> Workflow:
    source = document()
    missing = {"type": "mail-sorter", "title": "Sort", "folder": "inbox", **data}
    source["nodes"].append({"id": "sort", "data": missing})
    source["edges"].append({"id": "e2", "source": "start", "target": "sort"})
    read = {"variable": "o", "value_selector": ["sort", "label"]}
    source["nodes"].append(
        {"id": "last", "data": {"type": "end", "title": "Last", "outputs": [read]}}
    )
    source["edges"].append({"id": "e3", "source": "sort", "target": "last"})
    return make_workflow(person, source=source)


def show(person: Person, name: str, workflow: Workflow, **query: str) -> str:
    url = reverse(f"workflows:{name}", args=[workflow.pk, "sort"])
    return str(person.client.get(url, query).content.decode())


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"plugin_id": "acme/mail"}, "This node comes from a plug-in that isn't installed here."),
        (
            {"provider_name": "acme"},
            "This node comes from a provider of tools that isn't available here.",
        ),
        ({"type": "trigger-plugin"}, "This node is a feature of Dify that isn't offered here."),
        ({}, "The type of this node isn't known here."),
    ],
)
def test_panel_says_in_plain_words_where_the_node_comes_from(
    alice: Person, data: Any, sentence: str
):
    page = unescape(show(alice, "node", make(alice, **data)))

    assert sentence in page


def test_panel_names_the_technical_type_once(alice: Person):
    page = show(alice, "node", make(alice, plugin_id="acme/mail"))
    body = page.split("</script>", 1)[1]

    assert body.count("mail-sorter") == 1
    assert "no node type" not in page


def test_replacement_says_before_what_is_kept_lost_and_breaks(alice: Person):
    workflow = make(alice, url="https://example.test")
    pin_node(alice.principal, workflow=workflow, node="sort", outputs={"label": "x"})

    page = unescape(show(alice, "replacement", workflow, kind="http-request"))

    assert "title, position, ID and 2 edges; the pinned output; settings: URL" in page
    assert "folder" in page
    assert "HTTP request has no output label: choose other variables in Last afterwards." in page
    assert read_attribute(page, "data-replace") == {"url": "https://example.test"}
    assert read_attribute(page, "data-changes") == []


def test_replacement_says_which_output_is_read_under_a_new_name(alice: Person):
    page = unescape(show(alice, "replacement", make(alice), kind="template-transform"))

    assert "label becomes output in Last" in page
    assert "has no output" not in page
    (change,) = read_attribute(page, "data-changes")
    assert (change["op"], change["value"]) == ("set", "output")


def read_attribute(page: str, name: str) -> Any:
    """Return the JSON in an attribute of a page whose entities are replaced."""
    return json.JSONDecoder().raw_decode(page.split(f'{name}="')[1])[0]


def test_pin_begins_with_what_later_nodes_read(alice: Person):
    page = unescape(show(alice, "last_step", make(alice)))

    assert '"label": ""' in page
    assert "Later nodes read these outputs" in page
