"""Citations where people and programs read answers: in chats, on the page of a run, and over the API."""

import json
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.urls import reverse

from accounts.tenancy import tenant
from memory import services as memory
from memory.public import MemoryCaller
from tests.support.cast import Cast
from tests.workflows.citations.conftest import Desk
from tests.workflows.citations.documents import BREAD, MODEL, write_pages
from tests.workflows.views.conftest import HTMX, text_of
from workflows.engine.language.document import Mode
from workflows.models import Run, Workflow
from workflows.services import publishing
from workflows.services.catalog.import_reports import report_workflow
from workflows.services.runs.citations import load_citations


pytestmark = pytest.mark.django_db(transaction=True)


def make_talk(cast: Cast, desk: Desk, **options: Any) -> Run:
    workflow = desk.open(*MODEL, **options)
    publishing.publish(cast.alice.principal, workflow=workflow, note="")
    write_pages(cast.alice, f"global:{workflow.pk}", **BREAD)
    return desk.say(workflow, "bakery opens", version="published")


def list_pages(cast: Cast, run: Run) -> dict[str, str]:
    """Return the pages that show the run's answer, by name."""
    client = cast.alice.client
    with tenant([run.team_id]):
        run = Run.objects.unscoped().select_related("conversation").get(pk=run.pk)
    key = run.conversation.key if run.conversation else ""
    pages = {
        "chat": client.get(
            reverse("workflows:chat", args=[run.workflow_id]), {"conversation": key}
        ),
        "turn": client.get(reverse("workflows:chat_turn", args=[run.pk])),
        "test chat": client.get(
            reverse("workflows:detail", args=[run.workflow_id]), {"conversation": key}
        ),
        "end of a test": client.get(
            reverse("workflows:run_answer_note", args=[run.pk]), headers=HTMX
        ),
        "run": client.get(reverse("workflows:run", args=[run.pk])),
    }
    return {name: text_of(answer) for name, answer in pages.items()}


def test_sources_are_shown_below_the_answer_everywhere(cast: Cast, desk: Desk) -> None:
    run = make_talk(cast, desk)
    page = load_citations(cast.alice.principal, [run])[run.pk][0].page
    assert page is not None

    for name, html in list_pages(cast, run).items():
        assert html.count('<details class="citation">') == 2, name
        assert "The bakery opens at six." in html, name
        assert reverse("memory:knowledge_page", args=[page.entry_id]) in html, name
    assert 'hx-swap-oob="true"' in list_pages(cast, run)["end of a test"]
    assert "From memory" not in list_pages(cast, run)["chat"]  # the same pages once more


def test_cited_text_shows_no_signs_of_its_markdown(cast: Cast, desk: Desk) -> None:
    workflow = desk.open(*MODEL)
    publishing.publish(cast.alice.principal, workflow=workflow, note="")
    text = "## Times\n\nThe **bakery** opens at [six](https://example.com/).\n\n<b>Daily</b>"
    write_pages(cast.alice, f"global:{workflow.pk}", Opening_hours=text)

    for name, html in list_pages(cast, desk.say(workflow, "bakery", version="published")).items():
        passage = html.split('<blockquote class="answer-text">')[1].split("</blockquote>")[0]
        assert "The <strong>bakery</strong> opens at <a" in passage, name
        assert "&lt;b&gt;Daily" in passage, name  # no HTML of the document
        assert "**" not in passage, name
        assert "##" not in passage, name


def test_no_sources_are_shown_with_the_feature_off(cast: Cast, desk: Desk) -> None:
    for name, html in list_pages(cast, make_talk(cast, desk, is_on=False)).items():
        assert "citation-number" not in html, name


def test_forgotten_page_is_no_longer_named(cast: Cast, desk: Desk) -> None:
    run = make_talk(cast, desk)
    caller = MemoryCaller(cast.alice.principal, cast.alice.team.pk)
    for citation in load_citations(cast.alice.principal, [run])[run.pk]:
        memory.delete_page(caller, entry_id=citation.entry_id)

    pages = list_pages(cast, run)
    assert pages["chat"].count("No longer available") == 2
    for name in ("chat", "turn"):
        assert "Opening hours" not in pages[name].split('class="citations"')[1].split("</ol>")[0]


def test_api_returns_the_sources_with_the_run_and_with_the_end_of_its_stream(
    cast: Cast, desk: Desk, api_key: Any
) -> None:
    run = make_talk(cast, desk)
    api = api_key(cast.alice)
    with tenant([run.team_id]):
        Run.objects.unscoped().filter(pk=run.pk).update(api_key=api.key, started_by=None)

    detail = api.get(f"/api/v1/runs/{run.pk}").json()
    (end,) = [
        json.loads(frame.split("data: ", 1)[1])
        for frame in read_stream(api, run).split("\n\n")
        if "event: run_finished" in frame
    ]

    resources = detail["metadata"]["retriever_resources"]
    assert [each["document_name"] for each in resources] == ["Opening hours", "Bread"]
    assert [each["position"] for each in resources] == [1, 2]
    assert resources[0]["content"] == "The bakery opens at six."
    assert end["metadata"]["retriever_resources"] == resources


def read_stream(api: Any, run: Run) -> str:
    answer = api.get(f"/api/v1/runs/{run.pk}/events")

    async def read() -> bytes:
        return b"".join([part async for part in answer.streaming_content])

    return async_to_sync(read)().decode()


def test_new_chats_show_sources_and_the_switch_turns_them_off(cast: Cast, desk: Desk) -> None:
    client = cast.alice.client
    client.post(
        reverse("workflows:new"), {"mode": Mode.CHAT.value, "start": "blank", "name": "New"}
    )
    with tenant([cast.team_a.pk]):
        new = Workflow.objects.unscoped().filter(team_id=cast.team_a.pk).get()
    panel = text_of(client.get(reverse("workflows:inspector", args=[new.pk])))

    switch = panel.split('id="f-citations"')[1].split(">")[0]
    assert "checked" in switch
    old = desk.open(*MODEL, is_on=False)
    panel = text_of(client.get(reverse("workflows:inspector", args=[old.pk])))
    assert "checked" not in panel.split('id="f-citations"')[1].split(">")[0]


def test_report_and_problems_know_the_feature(cast: Cast, desk: Desk) -> None:
    report = report_workflow(cast.alice.principal, desk.open(*MODEL), with_problems=True)

    assert "retriever_resource" not in {finding.name for finding in report.findings}
    assert "feature.not_offered" not in {problem.code for problem in report.problems}
