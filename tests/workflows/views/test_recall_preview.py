"""What would be recalled now: a look with the asking person's own eyes."""

import json
from datetime import UTC, datetime
from html import unescape
from typing import Any

import pytest
from django.urls import reverse

from accounts.personas import make_persona_id
from memory.core.records import PromptUse
from memory.models import Read
from memory.public import MemoryCaller, remember
from memory.services.review.contradicting import propose_contradictions
from tests.factories.workflows import make_workflow, within
from tests.support.markup import markup_of
from workflows.models import Workflow
from workflows.services.chat.conversations import open_conversation


def document(**memory: Any) -> dict[str, Any]:
    held = {"enabled": True, "scope": "user", "query_selector": ["start", "text"], **memory}
    llm = {
        "type": "llm",
        "model": {"provider": "offline", "name": "offline"},
        "prompt_template": [{"role": "user", "text": "{{#start.text#}}"}],
        "enhanced_memory": held,
    }
    return {
        "version": "0.1.0",
        "nodes": [
            {
                "id": "start",
                "data": {"type": "start", "variables": [{"variable": "text", "type": "string"}]},
            },
            {"id": "llm", "data": llm},
        ],
        "edges": [{"source": "start", "target": "llm"}],
    }


def knows(person: Any, subject: str, key: str, value: str) -> None:
    caller = MemoryCaller(person.principal, person.team.pk, identity={"user_id": subject})
    remember(caller, scope="user", key=key, value=value)


def look(who: Any, workflow: Any, **asked: str) -> tuple[int, str]:
    url = reverse("workflows:recall_preview", args=[workflow.pk, "llm"])
    answer = who.client.get(url, asked)
    return answer.status_code, markup_of(answer)


def test_preview_shows_entries_with_scores_and_the_message_that_would_be_injected(alice):
    workflow = make_workflow(alice, "w", document())
    knows(alice, str(alice.user.pk), "allergy", "peanuts make me ill")
    knows(alice, str(alice.user.pk), "home", "Lisbon")

    status, html = look(alice, workflow, query="peanuts")

    assert status == 200
    assert "peanuts make me ill" in html
    assert "[Memory Context]\n- allergy: peanuts make me ill" in html
    assert "Inserted after the system message:" in html
    assert "<meter" in html
    assert "100% match" in html


def test_preview_leaves_out_what_matches_less_than_the_node_asks_for(alice):
    workflow = make_workflow(alice, "w", document(min_score=0.9))
    knows(alice, str(alice.user.pk), "whole", "peanuts make me ill")
    knows(alice, str(alice.user.pk), "half", "peanuts")

    _status, html = look(alice, workflow, query="ill of peanuts")
    _status, nothing = look(alice, workflow, query="Did Napoleon eat peanuts?")

    assert "whole" in html
    assert "half" not in html
    assert "No memories found." in nothing


def test_preview_counts_for_no_run(alice):
    workflow = make_workflow(alice, "w", document())
    knows(alice, str(alice.user.pk), "allergy", "peanuts")

    look(alice, workflow, query="peanuts")

    with within(alice):
        assert Read.objects.unscoped().count() == 0


def test_preview_never_shows_another_members_memory(cast):
    workflow = make_workflow(cast.alice, "w", document())
    knows(cast.alice, str(cast.alice.user.pk), "allergy", "peanuts make me ill")
    knows(cast.alice, make_persona_id("ben", cast.alice.user.pk), "allergy", "walnuts are worse")

    own = look(cast.bob, workflow, query="peanuts walnuts")
    as_alice = look(cast.bob, workflow, query="peanuts", person=str(cast.alice.user.pk))
    as_ben = look(cast.bob, workflow, query="walnuts", person="ben")
    as_her_ben = look(
        cast.bob, workflow, query="walnuts", person=make_persona_id("ben", cast.alice.user.pk)
    )

    for status, html in (own, as_alice, as_ben, as_her_ben):
        assert "ill" not in html.replace("will", "")
        assert "worse" not in html
        assert status in (200, 404)
    assert as_alice[0] == as_her_ben[0] == 404


def test_preview_for_a_test_person_shows_what_they_told(alice):
    workflow = make_workflow(alice, "w", document())
    knows(alice, make_persona_id("ben", alice.user.pk), "allergy", "walnuts are worse")

    _status, html = look(alice, workflow, query="walnuts", person="ben")

    assert "walnuts are worse" in html


def test_preview_by_conversation_asks_for_one(alice):
    workflow = make_workflow(alice, "w", document(scope="conversation"))
    talk = open_conversation(alice.principal, workflow=workflow, subject=str(alice.user.pk))
    caller = MemoryCaller(alice.principal, alice.team.pk, identity={"conversation_id": talk.key})
    remember(caller, scope="conversation", key="mood", value="cheerful today")

    assert "Select a conversation" in look(alice, workflow)[1]
    assert "cheerful today" in look(alice, workflow, conversation=talk.key, query="mood")[1]


def test_preview_of_somebody_elses_conversation_says_there_is_none(cast):
    workflow = make_workflow(cast.alice, "w", document(scope="conversation"))
    talk = open_conversation(
        cast.alice.principal, workflow=workflow, subject=str(cast.alice.user.pk)
    )
    caller = MemoryCaller(
        cast.alice.principal, cast.alice.team.pk, identity={"conversation_id": talk.key}
    )
    remember(caller, scope="conversation", key="mood", value="cheerful today")

    assert "cheerful" not in look(cast.bob, workflow, conversation=talk.key, query="mood")[1]


def test_preview_writes_the_entries_as_the_node_would(alice):
    template = "{% for e in entries %}<{{ e.key }}>{% endfor %}"
    workflow = make_workflow(
        alice, "w", document(format_template=template, injection_position="before_user")
    )
    knows(alice, str(alice.user.pk), "allergy", "peanuts")

    _status, html = look(alice, workflow, query="peanuts")

    assert "&lt;allergy&gt;" in html
    assert "Inserted before the user message:" in html


def test_preview_of_a_broken_template_says_what_is_wrong(alice):
    workflow = make_workflow(alice, "w", document(format_template="{% for %}"))
    knows(alice, str(alice.user.pk), "allergy", "peanuts")

    assert "syntax error" in look(alice, workflow, query="peanuts")[1]


def test_preview_of_a_node_without_a_readable_configuration_is_a_page_all_the_same(alice):
    source = document()
    source["nodes"][1]["data"]["enhanced_memory"] = {
        "enabled": True,
        "scope": "user",
        "top_k": "many",
        "filter": [],
    }
    workflow = make_workflow(alice, "w", json.loads(json.dumps(source)))

    assert look(alice, workflow)[0] == 200


def of_kind(kind: str, **data: Any) -> dict[str, Any]:
    return {
        "version": "0.1.0",
        "nodes": [
            {
                "id": "start",
                "data": {"type": "start", "variables": [{"variable": "text", "type": "string"}]},
            },
            {"id": "llm", "data": {"type": kind, "title": "Node", **data}},
        ],
        "edges": [{"source": "start", "target": "llm"}],
    }


def test_preview_of_history_shows_the_text_it_would_give(alice):
    data = {"scope": "user", "topic_selector": ["start", "text"]}
    workflow = make_workflow(alice, "w", of_kind("memory-retrieval", **data))
    caller = MemoryCaller(alice.principal, alice.team.pk, {"user_id": str(alice.user.pk)})
    remember(caller, scope="user", key="now", value="We met at noon today", tier="working")
    knows(alice, str(alice.user.pk), "allergy", "peanuts make me ill")

    status, html = look(alice, workflow, query="peanuts")

    assert status == 200
    assert "Text for the prompt:" in html
    first = "### Record 1 (relevance: 1.00)\nWe met at noon today"
    assert f"## History\n\n{first}\n\n### Record 2 (relevance: " in html
    assert "peanuts make me ill" in html


def test_preview_of_history_by_group_asks_for_one(alice):
    workflow = make_workflow(alice, "w", of_kind("memory-retrieval"))

    _, without = look(alice, workflow)
    _, with_one = look(alice, workflow, group="project-1")

    assert "Enter a group. This node uses group memory." in without
    assert "No memories found." in with_one
    assert f"ai:memory:{workflow.stream_name}:project-1" in with_one


def test_preview_of_forgetting_shows_what_would_go(alice):
    data = {"scope": "user", "key": "allergy"}
    workflow = make_workflow(alice, "w", of_kind("memory-delete", **data))
    knows(alice, str(alice.user.pk), "allergy", "peanuts")
    knows(alice, str(alice.user.pk), "home", "Lisbon")

    _, html = look(alice, workflow)

    assert "peanuts" in html
    assert "Lisbon" not in html


UNDECIDED = [
    ({"key": "a_{{#start.text#}}"}, "The key is only known during the run"),
    ({}, "Set a key or a metadata filter"),
]


@pytest.mark.parametrize(("data", "said"), UNDECIDED)
def test_preview_of_forgetting_that_is_not_decided_says_so(alice, data, said):
    workflow = make_workflow(alice, "w", of_kind("memory-delete", scope="user", **data))

    assert said in look(alice, workflow)[1]


def pin(person: Any, key: str, value: str, **more: Any) -> None:
    caller = MemoryCaller(person.principal, person.team.pk, {"user_id": str(person.user.pk)})
    remember(caller, scope="user", key=key, value=value, **more)


@pytest.mark.parametrize("kind", ["memory-recall", "llm"])
def test_preview_shows_the_profile_that_would_enter_too(alice: Any, kind: str) -> None:
    settings = {"scope": "user", "query_selector": ["start", "text"], "include_profile": True}
    source = of_kind(kind, **settings) if kind == "memory-recall" else document(**settings)
    workflow = make_workflow(alice, "w", source)
    pin(alice, "short", "Answer in one sentence.", prompt_use=PromptUse.ALWAYS)
    pin(alice, "allergy", "peanuts make me ill")

    _status, found = look(alice, workflow, query="peanuts")
    _status, nothing = look(alice, workflow, query="Napoleon")

    for html in (found, nothing):
        assert "[Profile]\n" in html
        assert '- "Answer in one sentence."' in unescape(html)
        assert html.count('<span class="insp-score">Always: in the profile</span>') == 1
    assert found.index("[Profile]") < found.index("[Memory Context]")
    assert "[Memory Context]" not in nothing


def test_preview_without_the_switch_shows_no_profile(alice: Any) -> None:
    workflow = make_workflow(alice, "w", document())
    pin(alice, "short", "Answer in one sentence.", prompt_use=PromptUse.ALWAYS)

    _status, html = look(alice, workflow, query="peanuts")

    assert "Profile" not in html
    assert "Answer in one sentence." not in html


@pytest.mark.parametrize(("mode", "is_shown"), [("workflow", True), ("advanced-chat", False)])
def test_preview_leaves_lessons_out_of_a_chat_as_the_run_does(
    alice: Any, mode: str, is_shown: bool
) -> None:
    workflow = make_workflow(alice, "w", document())
    with within(alice):
        Workflow.objects.unscoped().filter(pk=workflow.pk).update(mode=mode)
    pin(alice, "learning:1", "peanuts need ten minutes", category="result")

    _status, html = look(alice, workflow, query="peanuts")

    assert ("peanuts need ten minutes" in html) is is_shown


def test_preview_shows_what_disagrees_beside_it(alice: Any) -> None:
    workflow = make_workflow(alice, "w", document())
    caller = MemoryCaller(alice.principal, alice.team.pk, {"user_id": str(alice.user.pk)})
    for key, text in (("lyon", "I live in Lyon."), ("oslo", "I live in Oslo.")):
        entry = remember(caller, scope="user", key=key, value=text)
        propose_contradictions(caller, [entry])

    _status, html = look(alice, workflow, query="Oslo")

    assert "(these disagree)" in html
    assert html.index("I live in Oslo.") < html.index("I live in Lyon.")
    assert "Disagrees" in html


@pytest.mark.parametrize(
    ("question", "settings_of_node", "is_former_shown"),
    [
        ("Where did I live before?", {}, True),
        ("Where did I live before?", {"finds_former": False}, False),
        ("Where do I live?", {}, False),
    ],
)
def test_preview_shows_former_memories_for_questions_about_the_past_as_a_run_gets_them(
    alice: Any,
    settings: Any,
    question: str,
    settings_of_node: dict[str, Any],
    is_former_shown: bool,
) -> None:
    settings.MEMORY_EMBEDDER = "local"
    workflow = make_workflow(alice, "w", document(**settings_of_node))
    caller = MemoryCaller(alice.principal, alice.team.pk, identity={"user_id": str(alice.user.pk)})
    facts: dict[str, Any] = {"scope": "user", "metadata": {"attribute": "home"}}
    remember(caller, key="new", value="I moved to Lyon.", **facts)
    ended = datetime(2026, 3, 3, 12, tzinfo=UTC)
    remember(caller, key="old", value="I live in Berlin.", valid_until=ended, **facts)

    _status, html = look(alice, workflow, query=question)

    assert "I moved to Lyon." in html
    assert ("I live in Berlin." in html) == is_former_shown
    assert ("- old (until 3 Mar 2026): I live in Berlin." in html) == is_former_shown
    assert ("until Mar 3, 2026" in html) == is_former_shown
    assert "Recent" not in html
