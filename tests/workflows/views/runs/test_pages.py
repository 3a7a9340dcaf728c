"""Starting a run by its form, the list of runs, and the page of one."""

import html
import re
from functools import partial
from typing import Any
from urllib.parse import parse_qs

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.personas import make_service_subject
from tests.factories.workflows import (
    document,
    make_conversation,
    make_journal,
    make_message,
    make_run,
    make_version,
    make_workflow,
    within,
)
from tests.support.cast import Cast, Person
from tests.workflows.views.conftest import HTMX, text_of
from workflows.models import Run, RunEvent, Step, Workflow
from workflows.run_filters import leave_out_end_users
from workflows.views.runs import pages


RUNS = reverse("workflows:runs")
RUN_ERROR = re.compile(r'role="alert">.*?<p>(.*?)</p>', re.DOTALL)
FAILED = {"status": "failed", "finished_at": timezone.now()}


def start(who: Person, workflow: Workflow, /, *, htmx: bool = False, **data: str) -> Any:
    return who.client.post(
        reverse("workflows:start", args=[workflow.pk]), data, headers=HTMX if htmx else None
    )


def page_of(person: Person, run: Run, **options: Any) -> str:
    return text_of(person.client.get(reverse("workflows:run", args=[run.pk]), **options))


def link_to(run: Run) -> str:
    return f'href="{reverse("workflows:run", args=[run.pk])}"'


def the_run(person: Person) -> Run:
    with within(person):
        return Run.objects.visible_to(person.principal).select_related("conversation").get()


def count(person: Person) -> int:
    with within(person):
        return Run.objects.visible_to(person.principal).count()


def asking(**variable: Any) -> dict[str, Any]:
    return document(**variable)


def test_form_that_fits_starts_a_run_and_leads_to_it(alice: Person):
    answer = start(alice, make_workflow(alice), text="Hello")

    run = the_run(alice)
    assert (answer.status_code, answer["Location"]) == (
        302,
        reverse("workflows:run", args=[run.pk]),
    )
    assert (run.inputs, run.subject_user_id, run.status) == (
        {"text": "Hello"},
        alice.user.pk,
        "queued",
    )


def test_form_sent_by_htmx_shows_the_run_under_it(alice: Person):
    html = text_of(start(alice, make_workflow(alice), htmx=True, text="Hello"))

    run = the_run(alice)
    assert html.count("<run-stream") == 1
    assert reverse("workflows:run_events", args=[run.pk]) in html
    assert 'value="Hello"' in html
    assert "<html" not in html


@pytest.mark.parametrize(
    ("variable", "typed", "sentence"),
    [
        ({"type": "number"}, "several", "number"),
        ({"type": "string", "required": True}, "", "enter a value"),
        ({"type": "select", "options": ["a", "b"]}, "c", "one of"),
        ({"type": "string", "max_length": 3}, "long", "3"),
        ({"type": "object"}, "{", "object"),
    ],
)
def test_input_that_does_not_fit_is_named_at_its_field_and_kept(
    alice: Person, variable: dict[str, Any], typed: str, sentence: str
):
    workflow = make_workflow(alice, source=asking(**variable))

    answer = start(alice, workflow, htmx=True, text=typed, person="ben")

    html = text_of(answer)
    assert answer.status_code == 422
    assert 'aria-invalid="true" aria-describedby="input-text-error"' in html
    assert sentence in html.partition('id="input-text-error">')[2].partition("<")[0].lower()
    assert 'name="person" value="ben"' in html
    assert count(alice) == 0


def test_form_that_does_not_fit_comes_back_as_a_whole_page_without_htmx(alice: Person):
    workflow = make_workflow(alice, source=asking(type="number"))

    answer = start(alice, workflow, text="several")

    assert answer.status_code == 422
    assert text_of(answer).startswith("<!DOCTYPE html>")
    assert 'value="several"' in text_of(answer)


def test_form_begins_with_what_this_person_gave_last(cast: Cast):
    workflow = make_workflow(cast.alice)
    start(cast.alice, workflow, text="First")
    start(cast.alice, workflow, text="Second", person="ben")
    start(cast.bob, workflow, text="Not hers")

    page = text_of(cast.alice.client.get(reverse("workflows:detail", args=[workflow.pk])))

    field = page.partition('id="input-text"')[2].partition(">")[0]
    assert 'value="Second"' in field
    assert 'data-default=""' in field
    assert 'name="person" value=""' in page


def test_run_is_for_the_person_and_in_the_conversation_that_were_named(alice: Person):
    start(alice, make_workflow(alice), text="Hello", person="ben", conversation=" c1 ")

    run = the_run(alice)
    assert (run.person, run.subject, run.subject_user_id) == ("ben", f"ben@{alice.user.pk}", None)
    assert run.system["conversation_id"] == "c1"


def test_run_is_not_put_into_a_conversation_of_somebody_else(cast: Cast):
    workflow = make_workflow(cast.alice)
    key = make_conversation(cast.alice, workflow).key

    answer = start(cast.bob, workflow, text="x", conversation=key)

    assert answer.status_code == 422
    assert "be used for a run. Choose another one." in text_of(answer)
    assert count(cast.bob) == 0


def test_form_says_the_same_of_whosoever_conversation_it_is(cast: Cast):
    workflow = make_workflow(cast.alice)
    others = make_conversation(cast.alice, workflow).key
    elsewhere = make_conversation(cast.ada, make_workflow(cast.bob)).key

    said = [
        RUN_ERROR.findall(text_of(start(cast.bob, workflow, text="x", conversation=name)))
        for name in (others, elsewhere)
    ]

    assert len(said[0]) == 1
    assert said[0] == said[1]


def test_conversation_of_another_team_leaves_its_name_free(cast: Cast):
    theirs = make_conversation(cast.carol, make_workflow(cast.carol)).key

    assert (
        start(cast.bob, make_workflow(cast.alice), text="x", conversation=theirs).status_code == 302
    )


def test_run_goes_into_ones_own_conversation_again(cast: Cast):
    workflow = make_workflow(cast.alice)
    for _turn in range(2):
        assert start(cast.bob, workflow, text="x", conversation="mine").status_code == 302

    assert count(cast.bob) == 2


def test_viewer_may_run_but_not_change(cast: Cast):
    workflow = make_workflow(cast.alice)
    make_version(cast.alice, workflow)

    assert start(cast.vic, workflow, text="x").status_code == 302


def test_list_with_one_and_with_three_runs_asks_as_often(alice: Person, django_assert_num_queries):
    client, workflow = alice.client, make_workflow(alice)
    make_run(alice, workflow)
    client.get(RUNS)

    with django_assert_num_queries(16):
        client.get(RUNS)
    make_run(alice, workflow, subject="ben", subject_user=None)
    make_run(alice, make_workflow(alice))
    with django_assert_num_queries(16):
        client.get(RUNS)


def test_list_goes_on_where_the_page_before_ended_though_runs_were_started_since(
    alice: Person, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(pages, "paginate_by_time", partial(pages.paginate_by_time, size=2))
    workflow = make_workflow(alice)
    runs = [link_to(make_run(alice, workflow)) for _ in range(3)]
    first = text_of(alice.client.get(RUNS, {"status": "queued"}))
    runs.append(link_to(make_run(alice, workflow)))

    older = re.search(r'href="([^"]+)" rel="next">Older', first)
    assert older
    second = text_of(alice.client.get(RUNS + html.unescape(older[1])))

    shown = [[run for run in runs if run in page] for page in (first, second)]
    assert shown == [[runs[1], runs[2]], [runs[0]]]
    assert "status=queued&" in html.unescape(older[1])
    assert 'rel="prev">Newer' in second


def test_list_shows_ones_own_runs_and_what_was_run_for_one(cast: Cast):
    workflow = make_workflow(cast.alice)
    make_run(cast.alice, workflow, inputs={"text": "own"})
    make_run(cast.bob, workflow, inputs={"text": "of bob"})
    make_run(cast.bob, workflow, inputs={"text": "for alice"}, subject_user=cast.alice.user)

    page = text_of(cast.alice.client.get(RUNS))

    assert [words in page for words in ("own", "of bob", "for alice")] == [True, False, True]


def test_pattern_of_service_accounts_is_compared_only_with_runs_of_nobody():
    """The database compares from left to right, and a regular expression takes as long as the rest of the query."""
    sql = str(leave_out_end_users(Run.objects.unscoped()).query)

    assert sql.index('"started_by_id" IS NOT NULL OR') < sql.index("::text ~ ")


def test_list_shows_the_runs_of_ones_keys_for_end_users_only_on_request(
    alice: Person, api_key: Any
):
    workflow, key = make_workflow(alice), api_key(alice).key
    service = make_service_subject(key.service_account_id)
    for subject, text in (
        (f"web-{'a' * 32}", "of a visitor"),
        ("customer-7", "of a customer"),
        (service, "of my program"),
    ):
        inputs = {"text": text}
        make_run(alice, workflow, inputs=inputs, subject=subject, started_by=None, api_key=key)
    make_run(alice, workflow, inputs={"text": "as a persona"}, subject="ben")
    texts = ("of a visitor", "of a customer", "of my program", "as a persona")

    pages_ = [
        text_of(alice.client.get(url, query))
        for url, query in (
            (RUNS, {}),
            (RUNS, {"end_users": "1"}),
            (RUNS, {"person": "customer"}),
            (reverse("home"), {}),
        )
    ]

    assert [[text in page for text in texts] for page in pages_] == [
        [False, False, True, True],
        [True, True, True, True],
        [False, True, False, False],
        [False, False, True, True],
    ]
    assert "Include end users" in pages_[1]


def test_list_is_narrowed_by_status_and_workflow(alice: Person):
    one, two = make_workflow(alice), make_workflow(alice)
    make_run(alice, one, inputs={"text": "queued-one"})
    make_run(alice, one, inputs={"text": "failed-one"}, **FAILED)
    make_run(alice, two, inputs={"text": "failed-two"}, **FAILED)
    ask = alice.client.get

    failed = text_of(ask(RUNS, {"status": "failed", "workflow": str(one.pk)}))
    odd = text_of(ask(RUNS, {"status": "no-such"}))

    assert [n in failed for n in ("queued-one", "failed-one", "failed-two")] == [False, True, False]
    assert [n in odd for n in ("queued-one", "failed-one", "failed-two")] == [True, True, True]
    assert "No runs match these filters" in text_of(ask(RUNS, {"status": "paused"}))


def test_filters_in_use_are_chips_that_remove_them(alice: Person):
    workflow = make_workflow(alice, "Weather")
    asked = {"said": "tea", "status": "failed", "min_seconds": "5", "workflow": str(workflow.pk)}

    page = text_of(alice.client.get(RUNS, asked))

    chips = re.findall(r'pill-accent">\s*([^<]+?)\s*<a\s+href="\?([^"]*)"', page)
    assert {text: {*parse_qs(html.unescape(query))} for text, query in chips} == {
        "Weather": {"said", "status", "min_seconds"},
        "Status: Failed": {"said", "min_seconds", "workflow"},
        "Duration ≥ 5 s": {"said", "status", "workflow"},
    }
    assert 'class="count">2<' in page


def test_list_is_narrowed_by_what_went_in_whom_it_was_for_and_when(cast: Cast):
    alice = cast.alice
    workflow = make_workflow(alice)
    make_run(alice, workflow, inputs={"text": "Tea, please"}, subject="mia")
    made = make_run(alice, workflow, inputs={"text": "绿茶 100%"}, subject="noa")
    with within(alice):
        Run.objects.unscoped().filter(pk=made.pk).update(created_at="2026-01-31T12:00:00Z")

    def found(**asked: str) -> list[bool]:
        page = text_of(alice.client.get(RUNS, asked))
        return [words in page for words in ("Tea, please", "绿茶 100%")]

    assert found(said="tea") == [True, False]
    assert found(said="绿茶") == [False, True]
    assert found(said="100%") == [False, True]
    assert found(said="_ea") == [False, False]
    assert found(person="MIA") == [True, False]
    assert found(since="2026-01-31", until="2026-01-31") == [False, True]
    assert found(until="2026-01-30") == [False, False]
    assert found(since="2026-02-01") == [True, False]
    assert found(since="31.02.2026", until="9999-12-31", person="") == [True, True]
    assert found(named="no such name") == [False, False]
    assert found(named=workflow.name.upper()) == [True, True]


def test_chat_turn_is_found_by_what_was_said(alice: Person):
    message = make_message(alice, make_workflow(alice), query="Where is my umbrella?")

    page = text_of(alice.client.get(RUNS, {"said": "Umbrella"}))

    assert page.count(reverse("workflows:run", args=[message.run_id])) == 1
    assert "No runs match these filters" in text_of(alice.client.get(RUNS, {"said": "parasol"}))


@pytest.mark.parametrize("text", ["not-an-id", "'", "00000000-0000-0000-0000-000000000000"])
def test_list_of_a_workflow_that_is_not_there_is_not_found(alice: Person, text: str):
    assert alice.client.get(RUNS, {"workflow": text}).status_code == 404


def test_page_of_a_live_run_leaves_the_telling_to_its_stream(alice: Person):
    run = make_run(alice, make_workflow(alice), inputs={"text": "Hello"})

    page = page_of(alice, run)

    assert 'data-text="run-text"' in page
    assert reverse("workflows:cancel_run", args=[run.pk]) in page
    assert 'id="steps-title"' not in page


def ended_run(person: Person) -> Run:
    workflow = make_workflow(person)
    run = make_run(
        person,
        workflow,
        inputs={"text": "Hello"},
        outputs={"text": "<i>Bye</i>"},
        status="succeeded",
        finished_at=timezone.now(),
        elapsed=1.25,
        prompt_tokens=5,
        completion_tokens=7,
    )
    make_journal(run, "step-output")
    entry = {"key": "k1", "value": "Miso", "score": 0.5, "id": str(run.pk)}
    own = {"team_id": run.team_id, "run": run}
    with within(person):
        RunEvent.objects.create(
            **own,
            seq=2,
            name="memory_recalled",
            data={"namespace": "user:u", "entries": [entry], "injected": True},
        )
        RunEvent.objects.create(
            **own,
            seq=3,
            name="memory_written",
            data={"namespace": "user:u", "entry": {**entry, "key": "k2"}},
        )
        Step.objects.create(**own, node_key="gone", kind="llm", status="failed", error="No model.")
    return run


def test_page_of_an_ended_run_shows_outputs_steps_and_memories(alice: Person):
    page = page_of(alice, ended_run(alice))

    for words in ("&lt;i&gt;Bye&lt;/i&gt;", "step-output", "No model.", "1.25 s", "12 tokens"):
        assert words in page
    recalled = page.partition('id="recalled"')[2].partition('id="written"')[0]
    assert [w in recalled for w in ("k1", "50% match", "In the prompt")] == [True, True, True]
    assert "k2" in page.partition('id="written"')[2]
    assert 'data-text="run-text"' not in page
    assert "cancel" not in page


def test_page_names_the_slowest_steps_and_folds_long_json(alice: Person):
    outputs = {"text": "short", "rows": [{"number": number} for number in range(100)]}
    run = make_run(
        alice, make_workflow(alice), **{**FAILED, "status": "succeeded"}, outputs=outputs
    )
    with within(alice):
        for number, (title, seconds) in enumerate(
            [("Search", 2.0), ("Think", 6.0), ("Tidy", 0.01), ("Start", 0.01)]
        ):
            Step.objects.create(
                team_id=run.team_id,
                run=run,
                node_key=f"n{number}",
                kind="llm",
                title=title,
                status="succeeded",
                started_at=100.0 + number * 2,
                elapsed=seconds,
            )

    page = re.sub(r"\s+", " ", page_of(alice, run))

    slowest = page[page.index("Slowest:") :].partition("<")[0]
    assert slowest.strip() == "Slowest: Think 75%, Search 25%"  # Tidy would have 0%
    assert page.count("Show JSON (") == 1


def test_run_that_only_waited_has_no_second_attempt(alice: Person):
    workflow = make_workflow(alice)
    waited = make_run(alice, workflow, **FAILED, attempt=2)
    lost = make_run(alice, workflow, **FAILED, attempt=4, kill_count=1)

    assert "Attempt" not in page_of(alice, waited)
    assert "Attempt 2" in page_of(alice, lost)


def test_page_of_a_run_asked_by_htmx_is_its_body_and_head(alice: Person):
    html = page_of(alice, ended_run(alice), headers=HTMX)

    assert "<html" not in html
    assert html.index('id="run-body"') < html.index('id="run-head" hx-swap-oob="true"')


def test_failed_run_says_where_and_why(alice: Person):
    run = make_run(alice, make_workflow(alice), **FAILED, error="No model.", error_node="llm")

    page = page_of(alice, run)

    assert "Failed at" in page
    assert (
        f'<a href="{reverse("workflows:detail", args=[run.workflow_id])}?node=llm">llm</a>' in page
    )
    assert "No model." in page


def test_failed_node_is_no_link_for_who_may_not_change_it(alice: Person, cast: Cast):
    run = make_run(cast.vic, make_workflow(alice), **FAILED, error="No model.", error_node="llm")

    page = page_of(cast.vic, run)

    assert "Failed at llm" in page
    assert "?node=llm" not in page


def test_stopped_run_is_stopped_once(alice: Person):
    run = make_run(alice, make_workflow(alice))
    address = reverse("workflows:cancel_run", args=[run.pk])

    answers = [alice.client.post(address) for _ in range(2)]

    assert [a["Location"] for a in answers] == [reverse("workflows:run", args=[run.pk])] * 2
    assert the_run(alice).status == "stopped"


def test_run_of_an_archived_workflow_can_still_be_read(alice: Person):
    run = ended_run(alice)
    alice.client.post(reverse("workflows:archive", args=[run.workflow_id]))

    assert "step-output" in page_of(alice, run)


def test_trace_of_the_caller_stands_on_the_page_of_a_run_that_has_one(alice: Person) -> None:
    workflow = make_workflow(alice)
    traced = make_run(alice, workflow, trace_id="of-the-caller-1")

    assert "of-the-caller-1" in page_of(alice, traced)
    assert "Trace of the caller" not in page_of(alice, make_run(alice, workflow))
