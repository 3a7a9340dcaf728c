"""What a run's page says of a memory that a search gave nothing to: its score, and why it is there all the same."""

import re
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.factories.workflows import make_run, make_workflow, within
from tests.support.cast import Person
from tests.workflows.views.conftest import text_of
from workflows.models import RunEvent, Step
from workflows.models.run import RunStatus


pytestmark = pytest.mark.django_db

QUESTION = "What should I avoid eating?"
FACT = {
    "id": "018f0000-0000-7000-8000-000000000001",
    "key": "k",
    "value": "I'm allergic to peanuts.",
}
UNSCORED = '<p class="hint">No search query, so there is no relevance'
RECENT = '<span class="pill">Recent</span>'
BY_TOPIC = '<span class="pill">By topic</span>'
FILTER = {"category": "fact"}


def shown(alice: Person, *recalls: dict[str, Any]) -> str:
    run = make_run(
        alice, make_workflow(alice), status=RunStatus.SUCCEEDED, finished_at=timezone.now()
    )
    with within(alice):
        for number, data in enumerate(recalls):
            RunEvent.objects.create(
                team_id=run.team_id, run=run, seq=number + 1, name="memory_recalled", data=data
            )
    return text_of(alice.client.get(f"/runs/{run.pk}/"))


def recall(query: str | None, *entries: dict[str, Any], **sought: Any) -> dict[str, Any]:
    told = {"key": None, "filter": FILTER, "top_k": 5, **sought}
    return {"node": "n", "scope": "user", "query": query, "entries": list(entries), "sought": told}


def test_newest_memory_that_shares_no_word_has_the_score_of_the_search(alice: Person) -> None:
    page = shown(alice, recall(QUESTION), recall(None, FACT, top_k=20))

    assert "It shares no words with “What should I avoid eating?”" in page
    assert RECENT in page
    assert not re.search(r"\d% match", page)
    assert UNSCORED not in page


@pytest.mark.parametrize(
    "searched",
    [
        recall(
            QUESTION, {**FACT, "id": f"{FACT['id'][:-1]}2", "score": 0.4}, top_k=1
        ),  # no room: it may have had a score
        recall(QUESTION, filter={"category": "note"}),  # it was searched for something else
        recall(QUESTION, key="k2"),
        recall(QUESTION, min_score=0.5),  # it may have met a little of the question
        {**recall(QUESTION), "scope": "global"},
        {**recall(QUESTION), "sought": {}},  # of a run before this was noted
    ],
    ids=["full", "filter", "key", "min_score", "scope", "old"],
)
def test_score_is_told_only_where_a_search_really_gave_it(alice: Person, searched: Any) -> None:
    page = shown(alice, searched, recall(None, FACT, top_k=20))

    assert UNSCORED in page
    assert "shares no words with “What" not in page


def test_memory_that_another_provider_keeps_has_no_page_to_lead_to(alice: Person) -> None:
    page = shown(alice, recall(QUESTION, {**FACT, "id": "kept-elsewhere:7", "score": 0.4}))

    assert "allergic to peanuts" in page
    assert 'href="/memory/entries/' not in page
    assert FACT["id"] in shown(alice, recall(QUESTION, {**FACT, "score": 0.4}))


def test_what_was_searched_for_stands_first_though_its_node_was_slower(alice: Person) -> None:
    found = {**FACT, "id": f"{FACT['id'][:-1]}2", "value": "I like pears.", "score": 0.4}

    page = shown(alice, recall(None, FACT, top_k=20), recall(QUESTION, found))

    assert page.index("I like pears.") < page.index("allergic to peanuts.")


def test_note_is_shown_by_its_content_without_a_link_to_what_is_deleted(alice: Person) -> None:
    note = {"content": "rows unknown", "source": "todo_0", "time": 1, "temporary": True}
    run = make_run(
        alice, make_workflow(alice), status=RunStatus.SUCCEEDED, finished_at=timezone.now()
    )
    with within(alice):
        data = {"node": "n", "scope": "run", "entry": {**FACT, "key": "note:1", "value": note}}
        RunEvent.objects.create(
            team_id=run.team_id, run=run, seq=1, name="memory_written", data=data
        )

    page = text_of(alice.client.get(f"/runs/{run.pk}/"))

    remembered, notes = page.split("1 note of this run")
    assert '<div class="recollection-value">rows unknown</div>' in notes
    assert "rows unknown" not in remembered
    assert FACT["id"] not in page


@pytest.mark.parametrize(
    ("key", "name"),
    [("favourite_tea", "favourite_tea"), ("m-25e3f0cfc271", None), (f"task:{FACT['id']}", "task:…0001")],
)  # fmt: skip
def test_memory_goes_by_its_value_and_by_a_key_only_if_somebody_chose_it(
    alice: Person, key: str, name: str | None
) -> None:
    page = shown(alice, recall(QUESTION, {**FACT, "key": key, "score": 0.6}))

    names = re.findall(r'<span class="mono clip grow hint" title=[^>]*>([^<]*)</span>', page)
    assert names == ([name] if name else [])
    assert "allergic to peanuts" in page


@pytest.mark.parametrize("score", [None, 0.0, 0.07])
def test_memory_that_hardly_matches_the_query_is_called_recent(
    alice: Person, score: float | None
) -> None:
    page = shown(alice, recall(QUESTION, {**FACT, "score": score}, top_k=20))

    assert RECENT in page
    assert not re.search(r"\d% match", page)


def test_entry_that_was_looked_up_by_its_key_is_not_called_recent(alice: Person) -> None:
    assert RECENT not in shown(alice, recall(None, FACT, key=FACT["key"]))


def test_knowledge_page_is_shown_as_its_title_and_text(alice: Person) -> None:
    value = {"id": "p1", "title": "Vacation", "content": "Thirty days a year.", "tags": ["hr"]}
    page = shown(alice, recall(QUESTION, {**FACT, "key": "page:p1", "value": value, "score": 0.5}))

    assert ">Vacation Thirty days a year.<" in page
    assert "&quot;title&quot;" not in page


@pytest.mark.parametrize("score", [None, 0.03, 0.6])
def test_fact_that_the_query_asks_for_is_named_by_its_topic(
    alice: Person, score: float | None
) -> None:
    page = shown(alice, recall(QUESTION, {**FACT, "score": score, "parts": {"topic": 1.0}}))

    assert RECENT not in page
    assert (BY_TOPIC in page, "60% match" in page) == (score != 0.6, score == 0.6)
    assert "The query asks for this fact about the person" in page


def test_former_memory_says_until_when_it_held(alice: Person) -> None:
    former = {**FACT, "score": 0.5, "valid_until": "2026-03-03T12:00:00+00:00"}

    pages = [shown(alice, recall(QUESTION, entry)) for entry in (former, {**FACT, "score": 0.5})]

    assert [">until Mar 3, 2026</span>" in page for page in pages] == [True, False]


@pytest.mark.parametrize("is_profile_first", [True, False])
def test_memory_in_the_profile_has_one_reason_and_no_match(
    alice: Person, is_profile_first: bool
) -> None:
    profile = recall(None, {**FACT, "score": None, "parts": {"always": 1.0}}, profile=True)
    searched = recall(QUESTION, {**FACT, "score": 0.22, "parts": {"vector": 0.22}})
    recalls = [profile, searched] if is_profile_first else [searched, profile]

    page = shown(alice, *recalls)

    assert '<span class="pill">Always: in the profile</span>' in page
    assert not re.search(r"\d% match", page)
    assert "Meaning 0.22" not in page
    assert RECENT not in page
    assert "shares no words with “What" not in page


def test_written_memory_says_which_message_it_comes_from(alice: Person) -> None:
    run = make_run(
        alice, make_workflow(alice), status=RunStatus.SUCCEEDED, finished_at=timezone.now(),
        system={"query": "I have an allergy."},
    )  # fmt: skip
    data = {"node": "n", "scope": "user", "entry": FACT}
    with within(alice):
        RunEvent.objects.create(
            team_id=run.team_id, run=run, seq=1, name="memory_written", data=data
        )

    panel = text_of(alice.client.get(reverse("workflows:run_memory", args=[run.pk])))

    assert "Learned from “I have an allergy.”" in panel


def test_step_that_recalled_says_as_the_run_does_what_reached_a_prompt(alice: Person) -> None:
    workflow = make_workflow(alice)
    run = make_run(alice, workflow, status=RunStatus.SUCCEEDED, finished_at=timezone.now())
    other = {**FACT, "id": "018f0000-0000-7000-8000-000000000002", "value": "I ski.", "score": 0.2}
    asked = {"messages": [{"role": "system", "text": f"Known: {FACT['value']}"}]}
    with within(alice):
        for key, inputs in (("n", {}), ("llm", asked)):
            Step.objects.create(
                team_id=run.team_id,
                run=run,
                node_key=key,
                kind="llm",
                status="succeeded",
                inputs=inputs,
            )
        data = recall(QUESTION, {**FACT, "score": 0.9}, other)
        RunEvent.objects.create(
            team_id=run.team_id, run=run, seq=1, name="memory_recalled", data=data
        )

    page = text_of(alice.client.get(f"/runs/{run.pk}/"))
    steps = {
        key: text_of(alice.client.get(reverse("workflows:last_step", args=[workflow.pk, key])))
        for key in ("n", "llm")
    }

    marks = {
        key: (text.count("In the prompt"), text.count("Not in the prompt"))
        for key, text in steps.items()
    }
    assert page.count("In the prompt") == 1
    assert marks == {"n": (1, 1), "llm": (1, 0)}
