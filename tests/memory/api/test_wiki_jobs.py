"""The model of a wiki over HTTP and on its pages: 202 and a job to poll, and a notice that survives a reload."""

from typing import Any

import pytest

from memory.services.wiki.job_worker import carry_out_wiki_job
from tests.memory.services.conftest import at_door
from tests.memory.services.wiki.test_wiki_jobs import (
    WIKI,
    Model,
    entry_id,
    make_stale,
    model,
    order,
    overview,
)
from tests.support.cast import Person


__all__ = ["model"]  # the fixture

pytestmark = pytest.mark.django_db

API = "/api/v1/knowledge"
BODY = {"namespace": WIKI}


def post(client: Any, path: str, body: Any) -> Any:
    return client.post(f"{API}/{path}", body, content_type="application/json")


def test_compiling_answers_202_with_a_job_that_tells_when_it_is_done(
    alice: Person, key: Any, model: Model
) -> None:
    make_stale(alice)

    answer = post(key, "compile", BODY)

    job = answer.json()
    assert (answer.status_code, job["status"], job["pages"], model.prompts) == (
        202,
        "waiting",
        [],
        [],
    )
    assert post(key, "compile", BODY).json()["id"] == job["id"]
    carry_out_wiki_job(alice.team.pk, job["id"])
    job = key.get(f"{API}/jobs/{job['id']}").json()
    assert (job["status"], job["problem"], job["namespace"]) == ("done", "", WIKI)
    assert [page["entry"] for page in job["pages"]] == [entry_id(alice)]
    assert post(key, f"jobs/{job['id']}/retry", {}).status_code == 409


def test_rules_answer_at_once_with_the_pages(alice: Person, key: Any, model: Model) -> None:
    make_stale(alice)
    path = f"pages/{entry_id(alice)}/compile"
    assert post(key, path, {}).status_code == 202

    answer = post(key, "compile", {**BODY, "by": "rules"})

    assert (answer.status_code, answer.json()[0]["by"], model.prompts) == (200, "rules", [])
    assert post(key, path, {"by": "rules"}).json()["by"] == "rules"


def test_lint_with_the_model_is_a_job_that_is_retried_when_the_model_fails(
    alice: Person, key: Any, model: Model
) -> None:
    make_stale(alice)
    make_pair(alice)
    model.answer = RuntimeError("no credit")

    answer = key.get(f"{API}/lint?namespace={WIKI}&model=true")

    assert answer.status_code == 202
    job_id = answer.json()["id"]
    carry_out_wiki_job(alice.team.pk, job_id)
    assert key.get(f"{API}/jobs/{job_id}").json()["problem"] == "RuntimeError: no credit"
    again = post(key, f"jobs/{job_id}/retry", {})
    assert (again.status_code, again.json()["id"] == job_id) == (202, False)
    model.answer = '[{"pair": 1, "why": "nobody or all"}]'
    carry_out_wiki_job(alice.team.pk, again.json()["id"])
    job = key.get(f"{API}/jobs/{again.json()['id']}").json()
    assert [finding["detail"] for finding in job["findings"]] == ["nobody or all"]
    assert "nobody or all" in alice.client.get(upkeep(alice)).content.decode()


def test_page_says_compiling_until_the_worker_is_done_and_shows_the_failure_with_a_retry(
    alice: Person, model: Model
) -> None:
    make_stale(alice)
    model.answer = RuntimeError("no credit")
    compiling = upkeep(alice).removesuffix("wiki/") + "compile/"

    page = alice.client.post(compiling, follow=True).content.decode()

    job = order(alice)
    notice = f"/memory/knowledge/jobs/{job.pk}/"
    assert "Compiling…" in page
    assert f'hx-get="{notice}"' in page
    assert "Compiling…" in alice.client.get(notice, headers={"HX-Request": "true"}).content.decode()
    carry_out_wiki_job(job.team_id, job.pk)
    page = alice.client.get(upkeep(alice)).content.decode()
    assert "The model did not answer: RuntimeError: no credit" in page
    assert "Try again" in page
    assert "Compiling…" in alice.client.post(f"{notice}retry/", follow=True).content.decode()


def test_page_of_the_wiki_shows_its_own_job(alice: Person, model: Model) -> None:
    make_stale(alice)
    page = f"/memory/knowledge/pages/{entry_id(alice)}/"

    markup = alice.client.post(f"{page}compile/", follow=True).content.decode()

    assert "Compiling…" in markup
    assert "This page is stale" in markup
    assert "Compile anew" not in markup
    assert overview(alice).stale != ()


def make_pair(person: Person) -> None:
    from memory import services

    for title, text in (
        ("Tea", "Nobody drinks tea. See [[Kitchen]]."),
        ("Kitchen", "All love tea."),
    ):
        services.write_pages(
            at_door(person), namespace=WIKI, pages=[{"title": title, "content": text}]
        )


def upkeep(person: Person) -> str:
    from accounts.tenancy import tenant
    from memory.models import Namespace

    with tenant([person.team.pk]):
        row = Namespace.objects.unscoped().get(team=person.team, text=WIKI)
    return f"/memory/knowledge/{row.pk}/wiki/"
