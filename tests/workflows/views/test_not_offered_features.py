"""Features that are on and not offered are named where a workflow's settings are, not only in the report."""

from html import unescape

import pytest
from django.urls import reverse

from tests.factories.workflows import document, make_workflow
from tests.support.cast import Person


pytestmark = pytest.mark.django_db


def show_settings(person: Person, **parts: object) -> str:
    workflow = make_workflow(person, source={**document(), **parts})
    page = person.client.get(reverse("workflows:inspector", args=[workflow.pk]))
    return unescape(page.content.decode())


def test_settings_of_a_workflow_name_the_error_handler_and_say_what_to_do(alice: Person) -> None:
    page = show_settings(alice, error_handler={"mode": "recover", "sub_graph": {}})

    assert "The error handler of xworkflow is not run: a failed run ends with its error." in page
    assert "set the error handling of the node" in page


def test_settings_of_a_workflow_without_such_features_name_none(alice: Person) -> None:
    assert "notice-warn" not in show_settings(alice)


def test_settings_of_a_chat_name_speech_moderation_and_annotated_replies(alice: Person) -> None:
    names = ("speech_to_text", "sensitive_word_avoidance", "annotation_reply")
    features = {name: {"enabled": True} for name in names}
    nodes, edges = document()["nodes"], document()["edges"]
    tree = {
        "version": "0.6.0",
        "app": {"name": "Chat", "mode": "workflow"},
        "workflow": {"graph": {"nodes": nodes, "edges": edges}, "features": features},
    }
    workflow = make_workflow(alice, source=tree)

    page = unescape(
        alice.client.get(reverse("workflows:inspector", args=[workflow.pk])).content.decode()
    )

    for name in ("Speech to text", "Content moderation", "Annotated replies"):
        assert f"{name} is not offered here; the setting is kept, but has no effect" in page
