"""A turn in the editor's chat: why its answer was empty, and which of its events happened before."""

import re
from typing import Any

from django.urls import reverse

from tests.factories.workflows import make_workflow, within
from tests.support.cast import Person
from tests.workflows.views.chat.test_messages import ended, key_of, page_of, runs, say
from tests.workflows.views.conftest import text_of
from workflows.models import Run, Step, Workflow
from workflows.services import publishing


# A chat whose answer has two variables: the output of a node, and a variable of the conversation.
ANSWERING: dict[str, Any] = {
    "version": "0.6.0",
    "kind": "app",
    "app": {"name": "Asks", "mode": "advanced-chat"},
    "workflow": {
        "conversation_variables": [{"name": "q2", "value_type": "string", "value": ""}],
        "graph": {
            "nodes": [
                {"id": "start", "data": {"type": "start", "variables": []}},
                {
                    "id": "code",
                    "data": {
                        "type": "code",
                        "title": "Script",
                        "code": "def main():\n    return {'result': ''}",
                        "code_language": "python3",
                        "variables": [],
                        "outputs": {"result": {"type": "string"}},
                    },
                },
                {
                    "id": "say",
                    "data": {
                        "type": "answer",
                        "title": "Question 2",
                        "answer": "{{#code.result#}} {{#conversation.q2#}}",
                    },
                },
            ],
            "edges": [
                {"id": "a", "source": "start", "target": "code"},
                {"id": "b", "source": "code", "target": "say"},
            ],
        },
    },
}


def test_empty_answer_names_its_node_and_what_was_empty_to_members_in_the_editor_only(
    alice: Person,
):
    chat = make_workflow(alice, source=ANSWERING)
    publishing.publish(alice.principal, workflow=chat)
    say(alice, chat)
    (run,) = runs(alice)
    ended(alice, run, outputs={"answer": "", "files": []})
    with within(alice):
        step = {"team_id": run.team_id, "run": run, "status": "succeeded"}
        Step.objects.create(**step, node_key="say", kind="answer", outputs={"answer": ""})
    explained = (
        f'<a href="{reverse("workflows:detail", args=[chat.pk])}?node=say">Question 2</a>'
        " uses {{Script › result}}, {{q2}}, which are empty."
    )

    pane = page_of(alice, chat, conversation=key_of(run))
    note = text_of(alice.client.get(reverse("workflows:run_answer_note", args=[run.pk])))
    plain = text_of(
        alice.client.get(reverse("workflows:chat", args=[chat.pk]), {"conversation": key_of(run)})
    )

    assert (explained in pane, explained in note, "Script" in plain) == (True, True, False)
    assert "The answer was empty." in plain
    why = re.search(rf'<a[^>]*data-why="{run.pk}"[^>]*>', pane)
    assert why is not None
    assert "hidden" not in why[0]


def test_live_turn_says_which_events_happened_before(alice: Person, chat: Workflow):
    say(alice, chat)
    (run,) = runs(alice)
    with within(alice):
        Run.objects.unscoped().filter(pk=run.pk).update(last_seq=41)

    assert 'data-seen="41"' in page_of(alice, chat, conversation=key_of(run))
