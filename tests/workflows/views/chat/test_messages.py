"""Saying something: one turn, one run, in one's own conversation."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from tests.factories.workflows import make_run, make_workflow, within
from tests.support.cast import Cast, Person
from tests.workflows.views.conftest import HTMX, text_of
from workflows.models import Run, RunEvent, Step, Workflow
from workflows.services import publishing
from workflows.services.samples.samples import copy_sample


KEY = re.compile(r'name="conversation" value="([^"]*)"')
CANARY = "canary-said-by-alice"


def say(who: Person, workflow: Workflow, query: str = "Hello?", /, **more: str) -> Any:
    address = reverse("workflows:say", args=[workflow.pk])
    headers = HTMX if more.pop("htmx", "") else None
    return who.client.post(address, {"query": query, **more}, headers=headers)


def page_of(who: Person, workflow: Workflow, /, **query: str) -> str:
    return text_of(who.client.get(reverse("workflows:detail", args=[workflow.pk]), query))


def key_of(run: Run) -> str:
    assert run.conversation is not None
    return run.conversation.key


def runs(person: Person) -> list[Run]:
    with within(person):
        rows = Run.objects.visible_to(person.principal).select_related("conversation")
        return list(rows.order_by("created_at", "id"))


def test_turn_without_htmx_leads_back_to_the_conversation(alice: Person, chat: Workflow):
    answer = say(alice, chat, CANARY)

    (run,) = runs(alice)
    place = reverse("workflows:detail", args=[chat.pk])
    assert (answer.status_code, answer["Location"]) == (
        302,
        f"{place}?conversation={key_of(run)}",
    )
    page = page_of(alice, chat, conversation=key_of(run))
    assert page.count(CANARY) >= 1
    assert reverse("workflows:run_events", args=[run.pk]) in page
    assert KEY.findall(page) == [key_of(run)]


def test_turn_with_htmx_is_a_fragment_that_moves_the_page_into_the_conversation(
    alice: Person, chat: Workflow
):
    answer = say(alice, chat, "<b>bold</b>", htmx="yes", person="ben")

    (run,) = runs(alice)
    html = text_of(answer)
    place = reverse("workflows:detail", args=[chat.pk])
    assert answer["HX-Replace-Url"] == f"{place}?person=ben&conversation={key_of(run)}"
    assert "<html" not in html
    assert "&lt;b&gt;bold&lt;/b&gt;" in html
    assert html.count("<run-stream") == 1
    assert 'id="chat-place" hx-swap-oob="true"' in html
    assert KEY.findall(html) == [key_of(run)]
    assert 'name="person" value="ben"' in html


def test_second_turn_goes_on_in_the_same_conversation(alice: Person, chat: Workflow):
    say(alice, chat, "one")
    key = key_of(runs(alice)[0])

    say(alice, chat, "two", conversation=key)

    assert [key_of(run) for run in runs(alice)] == [key, key]
    page = page_of(alice, chat, conversation=key)
    assert page.index('"bubble bubble-me">one') < page.index('"bubble bubble-me">two')


def test_turn_of_a_person_one_plays_is_for_that_person(alice: Person, chat: Workflow):
    say(alice, chat, person="ben")
    say(alice, chat)

    assert [(run.subject, run.subject_user_id) for run in runs(alice)] == [
        (f"ben@{alice.user.pk}", None),
        (str(alice.user.pk), alice.user.pk),
    ]
    assert "?person=ben" in page_of(alice, chat)


def test_message_reads_the_draft_once(alice: Person, chat: Workflow):
    say(alice, chat)  # a changed draft is read once more, for its snapshot

    with CaptureQueriesContext(connection) as statements:
        say(alice, chat)

    assert sum('FROM "workflows_node"' in statement["sql"] for statement in statements) == 1


@pytest.mark.parametrize("query", ["", "   ", "\n"])
def test_nothing_said_starts_nothing(alice: Person, chat: Workflow, query: str):
    assert say(alice, chat, query).status_code == 422
    assert runs(alice) == []


def test_conversation_of_somebody_else_is_neither_shown_nor_gone_on_with(
    cast: Cast, chat: Workflow
):
    say(cast.alice, chat, CANARY)
    key = key_of(runs(cast.alice)[0])

    page = page_of(cast.bob, chat, conversation=key)
    refused = say(cast.bob, chat, conversation=key)

    assert CANARY not in page
    assert KEY.findall(page) == [""]
    assert refused.status_code == 404
    assert runs(cast.bob) == []


def test_conversation_of_another_person_one_played_is_not_gone_on_with(
    alice: Person, chat: Workflow
):
    say(alice, chat, CANARY, person="ana")
    key = key_of(runs(alice)[0])

    assert say(alice, chat, conversation=key, person="ben").status_code == 404
    assert say(alice, chat, conversation=key).status_code == 404


def test_conversation_of_another_workflow_is_not_shown_and_has_messages_of_its_own(
    alice: Person, chat: Workflow
):
    say(alice, chat, CANARY)
    other = copy_sample(alice.principal, team_id=alice.team.pk, slug="chatbot")
    key = key_of(runs(alice)[0])

    assert f'bubble-me">{CANARY}' not in page_of(alice, other, conversation=key)
    assert say(alice, other, conversation=key).status_code == 302
    assert f'bubble-me">{CANARY}' not in page_of(alice, other, conversation=key)


def test_conversation_of_another_person_one_played_is_not_shown(alice: Person, chat: Workflow):
    say(alice, chat, CANARY, person="ana")
    key = key_of(runs(alice)[0])

    page = page_of(alice, chat, conversation=key, person="ben")

    assert f'bubble-me">{CANARY}' not in page
    assert KEY.findall(page) == [""]


def failed_turn(who: Person, chat: Workflow, **how: str) -> str:
    """The page after a turn that came to no good end at the node called Generate answer."""
    say(who, chat)
    (run,) = runs(who)
    with within(who):
        Run.objects.unscoped().filter(pk=run.pk).update(
            **{"status": "failed", "error": RAW, "error_node": "llm", **how},
            finished_at=timezone.now(),
        )
        Step.objects.create(
            team_id=run.team_id, run=run, node_key="llm", kind="llm", status="failed",
            title="Generate answer", attempt=1, started_at=1.0,
        )  # fmt: skip
    page = page_of(who, chat, conversation=key_of(run))
    assert "bubble-bad" in page
    assert f'href="{reverse("workflows:run", args=[run.pk])}"' in page
    return page


RAW = "ValueMismatch: llm.text has no member prompt_template"


def test_failed_turn_says_to_an_editor_where_and_why(alice: Person, chat: Workflow):
    page = failed_turn(alice, chat)

    assert (
        "Generate answer: ValueMismatch: Generate answer › text has no member prompt_template"
        in page
    )


def test_failed_turn_without_a_node_says_why(alice: Person, chat: Workflow):
    page = failed_turn(alice, chat, error_node="")

    assert f'bubble-bad">{RAW}<' in page


def test_failed_turn_says_why_in_the_language_of_the_reader(alice: Person, chat: Workflow):
    alice.user.locale = "zh-hans"
    alice.user.save()

    page = failed_turn(alice, chat, error="ollama took too long to respond.")

    assert "Generate answer: ollama 响应时间过长。" in page


def test_failed_turn_tells_who_only_talks_nothing_of_nodes(cast: Cast, chat: Workflow):
    publishing.publish(cast.alice.principal, workflow=chat)

    page = failed_turn(cast.vic, chat)

    bubbles = re.findall(r'bubble-bad">([^<]*)<', page)
    assert bubbles == ["Something went wrong. Please try again."]
    assert RAW not in page


UNREACHABLE = "ollama isn't responding at http://127.0.0.1:11434/v1. Is it running?"


def test_turn_without_a_reachable_model_offers_another_try_and_the_page_models(
    alice: Person, chat: Workflow
):
    page = failed_turn(alice, chat, error=UNREACHABLE)

    assert 'data-say="Hello?"' in page
    assert "Open Models" in page


@pytest.mark.parametrize(
    "error",
    [
        "The tool sql_query of database isn't connected",
        "The tool 'sql_query' of 'db' (openapi) isn't connected: there is no such connection in this team",
        "Search can't run: this installation has no node type datasource of Dify. Replace the node.",
    ],
)
def test_turn_that_wants_what_is_not_here_leads_to_the_requirements(
    alice: Person, chat: Workflow, error: str
):
    page = failed_turn(alice, chat, error=error)

    assert f'class="button button-s" href="/workflows/{chat.pk}/report/"' in page


def test_turn_that_the_workflow_failed_offers_another_try_only(alice: Person, chat: Workflow):
    page = failed_turn(alice, chat)

    assert 'data-say="Hello?"' in page
    assert "Open Models" not in page
    assert f'class="button button-s" href="/workflows/{chat.pk}/report/"' not in page


def test_turn_stopped_by_a_person_is_no_mistake_of_the_workflow(alice: Person, chat: Workflow):
    page = failed_turn(alice, chat, status="stopped", error="The run was stopped.", error_node="")

    assert "This reply was stopped." in page


def test_live_turn_carries_the_words_for_its_end(alice: Person, chat: Workflow):
    html = text_of(say(alice, chat, htmx="yes"))

    assert "data-failed=" not in html  # the error itself is shown
    assert 'data-stopped="This reply was stopped."' in html


def test_live_turn_gets_the_model_and_the_thumbs_when_its_answer_is_complete(
    alice: Person, chat: Workflow
):
    live = text_of(say(alice, chat, htmx="yes"))
    (run,) = runs(alice)
    note = reverse("workflows:run_answer_note", args=[run.pk])
    with within(alice):
        Run.objects.unscoped().filter(pk=run.pk).update(
            status="succeeded", finished_at=timezone.now()
        )
        Step.objects.create(
            team_id=run.team_id, run=run, node_key="llm", kind="llm", status="succeeded",
            title="Generate answer", attempt=1, started_at=1.0,
            inputs={"model": {"provider": "acme", "name": "big"}},
        )  # fmt: skip

    ended = text_of(alice.client.get(note))

    assert f'hx-get="{note}" hx-trigger="run-finished"' in live
    assert f'data-refresh="answer-{run.pk}"' in live
    assert "Good answer" not in live
    assert "acme/big" in ended
    assert "Good answer" in ended
    assert "hx-get" not in ended


def test_markdown_and_reasoning_are_shown_once_an_answer_is_complete_in_pane_and_chat(
    alice: Person, chat: Workflow
):
    live = text_of(say(alice, chat, htmx="yes"))
    (run,) = runs(alice)
    with within(alice):
        Run.objects.unscoped().filter(pk=run.pk).update(
            status="succeeded", finished_at=timezone.now(),
            outputs={"answer": "<think>Hm.</think>Two:\n\n- **salt**\n- <b>sugar</b>"},
        )  # fmt: skip

    ended = text_of(alice.client.get(reverse("workflows:run_answer_note", args=[run.pk])))

    shown = "<li><strong>salt</strong></li><li>&lt;b&gt;sugar&lt;/b&gt;</li>"
    assert f'id="text-{run.pk}" hx-swap-oob="true"><p>Two:</p>' in ended
    assert shown in ended
    place = f'<div class="reasoning-place" id="reasoning-{run.pk}"'
    assert place in live
    assert f'{place} hx-swap-oob="true"><details class="reasoning">' in ended
    assert ended.count("Hm.") == 1  # in its own place, folded, and not in the answer
    assert shown in page_of(alice, chat, conversation=key_of(run))


@pytest.mark.parametrize("status", ["running", "failed", "stopped"])
def test_answer_of_a_run_that_has_not_succeeded_is_left_as_it_is(
    alice: Person, chat: Workflow, status: str
):
    say(alice, chat)
    (run,) = runs(alice)
    with within(alice):
        Run.objects.unscoped().filter(pk=run.pk).update(
            status=status, finished_at=None if status == "running" else timezone.now(),
            outputs={"answer": "Half of"},
        )  # fmt: skip

    note = text_of(alice.client.get(reverse("workflows:run_answer_note", args=[run.pk])))

    assert "Half of" not in note


def test_notes_of_a_run_are_not_remembered(alice: Person, chat: Workflow):
    say(alice, chat)
    (run,) = runs(alice)
    with within(alice):
        Run.objects.unscoped().filter(pk=run.pk).update(
            status="succeeded", finished_at=timezone.now()
        )
        for seq, scope in enumerate(("run", "user"), 100):
            RunEvent.objects.create(
                team_id=run.team_id, run=run, seq=seq, name="memory_written",
                data={"scope": scope, "namespace": "", "entry": {"value": f"a value of {scope}"}},
            )  # fmt: skip

    page = page_of(alice, chat, conversation=key_of(run))

    assert "a value of user" in page
    assert "a value of run" not in page


def test_what_no_longer_holds_has_a_count_of_its_own(alice: Person, chat: Workflow):
    say(alice, chat)
    (run,) = runs(alice)
    with within(alice):
        Run.objects.unscoped().filter(pk=run.pk).update(
            status="succeeded", finished_at=timezone.now()
        )
        RunEvent.objects.create(
            team_id=run.team_id, run=run, seq=100, name="memory_ended",
            data={"scope": "user", "entries": [{"value": "I live in Berlin."}]},
        )  # fmt: skip

    page = page_of(alice, chat, conversation=key_of(run))

    assert "I live in Berlin." in page.split("Forgotten or ended")[1]
    assert "Remembered" not in page.split('class="chat-note"')[1].split("Why?")[0]


def test_empty_chat_opens_with_the_authors_words_and_suggestions(alice: Person, chat: Workflow):
    page = page_of(alice, chat)

    assert "Tell me something about yourself." in page
    assert page.count("data-say=") == 2


def test_character_no_database_can_keep_is_left_out_of_forms_and_refused_in_addresses(
    alice: Person, chat: Workflow
):
    answers = [
        say(alice, chat, "half\x00way"),
        say(alice, chat, "x", conversation="\x00"),
        alice.client.get(reverse("workflows:detail", args=[chat.pk]), {"conversation": "\x00"}),
        alice.client.get(reverse("workflows:list"), {"q": "\x00"}),
    ]

    assert [answer.status_code for answer in answers] == [302, 302, 400, 400]
    assert runs(alice)[0].system["query"] == "halfway"


def test_page_of_a_chat_with_one_and_with_three_turns_asks_as_often(
    alice: Person, chat: Workflow, django_assert_num_queries
):
    client = alice.client
    say(alice, chat, "one")
    address = f"{reverse('workflows:detail', args=[chat.pk])}?conversation={key_of(runs(alice)[0])}"
    client.get(address)
    key = {"conversation": key_of(runs(alice)[0])}

    with django_assert_num_queries(27):
        client.get(address)
    say(alice, chat, "two", **key)
    say(alice, chat, "three", **key)
    with django_assert_num_queries(27):
        client.get(address)


def test_run_of_a_plain_workflow_has_no_place_in_a_chat(alice: Person, chat: Workflow):
    make_run(alice, make_workflow(alice), inputs={"text": CANARY})

    assert CANARY not in page_of(alice, chat)


@pytest.mark.parametrize("person", ["x" * 81, "x" * 44, ":" * 15])
def test_person_that_could_be_no_id_is_refused_and_never_taken_for_oneself(
    alice: Person, chat: Workflow, person: str
):
    said = say(alice, chat, CANARY, person=person)
    address = reverse("workflows:detail", args=[chat.pk])
    shown = alice.client.get(address, {"person": person})

    assert (said.status_code, shown.status_code, runs(alice)) == (422, 422, [])


def test_earlier_conversations_of_the_same_person_can_be_gone_back_to(
    alice: Person, bob: Person, chat: Workflow
):
    say(alice, chat, "The first words")
    say(alice, chat, "As somebody else", person="ben")
    say(bob, chat, CANARY)

    page = page_of(alice, chat, new="")
    here = page_of(alice, chat, conversation=key_of(runs(alice)[0]))

    mine, bens = (f"conversation={key_of(run)}" for run in runs(alice))
    assert mine in page
    assert bens not in page
    assert CANARY not in page
    assert f'menu-item" href="{reverse("workflows:detail", args=[chat.pk])}?{mine}"' in page
    assert f'menu-item" href="{reverse("workflows:detail", args=[chat.pk])}?{mine}"' not in here


def ended(who: Person, run: Run, **facts: Any) -> None:
    """As it is once it is over."""
    with within(who):
        Run.objects.unscoped().filter(pk=run.pk).update(
            status="succeeded", finished_at=timezone.now(), **facts
        )


def test_turn_in_which_no_answer_was_reached_says_so(alice: Person, chat: Workflow):
    html = text_of(say(alice, chat, htmx="yes"))
    (run,) = runs(alice)
    assert 'data-nothing="No reply' in html
    ended(alice, run, outputs={})

    page = page_of(alice, chat, conversation=key_of(run))

    assert '<p class="hint chat-none">No reply' in page


@pytest.mark.parametrize("answer", ["", " \n", "<think>Hm.</think>"])
def test_turn_with_an_empty_answer_says_so(alice: Person, chat: Workflow, answer: str):
    html = text_of(say(alice, chat, htmx="yes"))
    (run,) = runs(alice)
    assert 'data-empty="The answer was empty."' in html
    ended(alice, run, outputs={"answer": answer, "files": []})

    page = page_of(alice, chat, conversation=key_of(run))
    details = text_of(alice.client.get(reverse("workflows:run", args=[run.pk])))

    assert '<p class="hint chat-none">The answer was empty.' in page
    assert "files" not in re.findall(r'<dt class="mono">(.*?)</dt>', details)


def test_turn_with_memory_tried_out_promises_nothing_and_leads_to_the_decision(
    alice: Person, chat: Workflow
):
    html = text_of(say(alice, chat, htmx="yes", debug='{"memory": "sandbox"}'))
    (run,) = runs(alice)

    assert ("Will remember" in html, f'data-decide="{run.pk}"' in html) == (True, True)
    for address in (reverse("workflows:runs"), reverse("workflows:run", args=[run.pk])):
        assert "Dry run" in text_of(alice.client.get(address))


def test_turn_marks_that_results_were_pinned(alice: Person, chat: Workflow):
    plain = text_of(say(alice, chat, htmx="yes"))
    (run,) = runs(alice)
    ended(alice, run, mocks={"llm": {"outputs": {"text": "Hi"}}}, outputs={"answer": "Hi"})

    page = page_of(alice, chat, conversation=key_of(run))

    assert 'data-pinned="llm"' in page
    assert 'data-pinned="llm"' not in plain
