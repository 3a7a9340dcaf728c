"""Wiki jobs: a worker asks the model, with the rights of whoever asked, once for all who ask at the same time."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Membership
from accounts.tenancy import tenant
from memory import services
from memory.core.errors import AccessDenied, AlreadyExists, InvalidInput, NotFound
from memory.host import get_host, register_host
from memory.models import WikiJob
from memory.services import job_claims
from memory.services.curation.learning_rules import LearningRule, set_learning_rule
from memory.services.wiki.job_worker import carry_out_wiki_job
from memory.upkeep.wiki_jobs import run_wiki_job, sweep_wiki_jobs
from tests.memory.services.conftest import at_door
from tests.support.cast import Cast, Person


pytestmark = pytest.mark.django_db

WIKI = "global:default"
ANSWER = json.dumps(
    {"summary": "A printer.", "paragraphs": [{"text": "It is on floor three.", "sources": [1]}]}
)


class Killed(BaseException):
    """Ends a worker in the middle of its work."""


class Model:
    """Answers with ``answer``, or raises it, unless it hangs, and keeps the prompts."""

    def __init__(self) -> None:
        self.answer: str | BaseException = ANSWER
        self.hangs = False
        self.prompts: list[str] = []
        self.is_set = True

    async def ask(self, prompt: str) -> str:
        self.prompts.append(prompt)
        if self.hangs:
            await asyncio.Event().wait()
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


@pytest.fixture
def model() -> Iterator[Model]:
    before, model = get_host(), Model()

    class Host:
        def __getattr__(self, name: str) -> Any:
            return getattr(before, name)

        def find_model(self, *_where: Any) -> Any:
            return model.ask if model.is_set else None

    register_host(Host())  # all else is the real one's
    yield model
    register_host(before)


def ingest(person: Person, text: str, title: str = "Printer", source_id: str = "a") -> None:
    services.ingest_source(
        at_door(person),
        source={"id": source_id, "text": text},
        pages=[{"title": title, "content": text}],
        namespace=WIKI,
    )


def record(person: Person, text: str, source_id: str = "a") -> None:
    source = {"id": source_id, "text": text}
    services.ingest_source(at_door(person), source=source, namespace=WIKI)


def make_stale(person: Person) -> None:
    ingest(person, "The printer is on floor two.")
    record(person, "The printer is on floor three.")


def overview(person: Person) -> Any:
    return services.get_overview(at_door(person), namespace=WIKI)


def entry_id(person: Person) -> str:
    return str(overview(person).knowledge_base.entries["printer"].id)


def order(person: Person) -> WikiJob:
    job = services.order_compilation(at_door(person), namespace=WIKI)
    assert job is not None
    return job


def load(job: WikiJob) -> WikiJob:
    with tenant([job.team_id]):
        return WikiJob.objects.unscoped().get(pk=job.pk)


def change(job: WikiJob, **changes: Any) -> None:
    with tenant([job.team_id]):
        WikiJob.objects.unscoped().filter(pk=job.pk).update(**changes)


def work(job: WikiJob) -> WikiJob:
    carry_out_wiki_job(job.team_id, job.pk)
    return load(job)


def test_stale_pages_are_compiled_by_the_worker_and_not_by_who_asks(
    alice: Person, model: Model
) -> None:
    make_stale(alice)

    job = order(alice)

    assert (job.status, model.prompts) == ("waiting", [])
    job = work(job)
    (page,) = overview(alice).knowledge_base.pages
    assert (page.content, overview(alice).stale) == ("It is on floor three.", ())
    assert job.status == "done"
    assert job.result["pages"] == [
        {"entry": entry_id(alice), "revision": 2, "by": page.compiled_by, "problem": "", "held_for": []}
    ]  # fmt: skip


def test_two_people_who_ask_at_once_get_one_job_which_runs_once(cast: Cast, model: Model) -> None:
    make_stale(cast.alice)

    first, second = order(cast.alice), order(cast.ada)

    assert first.pk == second.pk
    assert run_wiki_job(first.team_id, first.pk) == 1
    carry_out_wiki_job(first.team_id, first.pk)
    assert len(model.prompts) == 1


def test_page_is_ordered_apart_and_a_page_without_sources_is_refused_at_once(
    alice: Person, model: Model
) -> None:
    make_stale(alice)
    (written,) = services.write_pages(at_door(alice), namespace=WIKI, pages=[{"title": "Alone"}])

    job = services.order_page_compilation(at_door(alice), entry_id=entry_id(alice))

    assert job is not None
    assert work(job).status == "done"
    assert overview(alice).stale == ()
    with pytest.raises(InvalidInput):
        services.order_page_compilation(at_door(alice), entry_id=written.entry.id)


def test_without_a_model_or_without_stale_pages_there_is_no_job(
    alice: Person, model: Model
) -> None:
    ingest(alice, "The printer is on floor two.")
    assert services.order_compilation(at_door(alice), namespace=WIKI) is None
    record(alice, "The printer is on floor three.")
    model.is_set = False

    assert services.order_compilation(at_door(alice), namespace=WIKI) is None
    assert services.order_lint(at_door(alice), namespace=WIKI) is None


def test_model_that_fails_is_named_and_the_retry_asks_it_again_for_the_same_pages(
    alice: Person, model: Model
) -> None:
    make_stale(alice)
    model.answer = RuntimeError("no credit")

    job = work(order(alice))

    assert (job.status, services.get_problem(job)) == ("done", "RuntimeError: no credit")
    assert overview(alice).stale == ()
    model.answer = ANSWER
    again = work(services.retry_wiki_job(at_door(alice), job_id=job.pk))
    assert (again.pk == job.pk, again.status, services.get_problem(again)) == (False, "done", "")
    (page,) = overview(alice).knowledge_base.pages
    assert page.content == "It is on floor three."
    with pytest.raises(AlreadyExists):
        services.retry_wiki_job(at_door(alice), job_id=again.pk)


def test_model_that_hangs_is_ended_by_the_rules_clock(alice: Person, model: Model) -> None:
    make_stale(alice)
    set_learning_rule(at_door(alice), learning=LearningRule(provider="local", seconds=1))
    model.hangs = True

    job = work(order(alice))

    assert services.get_problem(job).startswith("TimeoutError")


def test_job_of_a_lost_worker_is_swept_and_goes_on_with_the_pages_that_are_left(
    alice: Person, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_stale(alice)
    ingest(alice, "Tea is green.", "Tea", "b")
    record(alice, "Tea is black.", "b")
    job = order(alice)
    model.answer = Killed()
    with pytest.raises(Killed):
        work(job)
    model.answer, model.prompts = ANSWER, []
    done = {"entry": "00000000-0000-0000-0000-000000000001", "revision": 2, "by": "rules", "problem": "", "held_for": []}  # fmt: skip
    change(job, result={"pages": [done]})

    assert sweep_wiki_jobs() == 0  # its time has not run out
    change(job, held_until=timezone.now())
    assert sweep_wiki_jobs() == 1

    job = load(job)
    assert (job.status, job.attempts, len(job.result["pages"])) == ("done", 2, 3)
    assert len(model.prompts) == 2


def test_job_that_loses_every_worker_fails_and_can_be_retried(alice: Person, model: Model) -> None:
    make_stale(alice)
    job = order(alice)
    change(job, status="running", attempts=3, held_until=timezone.now())

    assert sweep_wiki_jobs() == 1

    job = load(job)
    assert (job.status, job.problem) == ("failed", "The worker was lost 3 times.")
    assert work(services.retry_wiki_job(at_door(alice), job_id=job.pk)).status == "done"


def test_worker_that_was_replaced_stores_nothing(alice: Person, model: Model) -> None:
    make_stale(alice)
    job = order(alice)
    change(job, status="running", attempts=1, held_until=timezone.now())
    replaced = load(job)
    change(job, attempts=2)

    with pytest.raises(job_claims.JobTakenOver):
        job_claims.update_job(replaced, status="done")
    assert load(job).status == "running"


def test_permission_is_asked_when_ordering_and_again_by_the_worker(
    cast: Cast, model: Model
) -> None:
    make_stale(cast.alice)
    for refused, error in ((cast.vic, AccessDenied), (cast.carol, NotFound)):
        caller = replace(at_door(refused), team_id=cast.team_a.pk)
        with pytest.raises(error):
            services.order_compilation(caller, namespace=WIKI)
    job = order(cast.bob)
    with tenant([cast.team_a.pk]):
        Membership.objects.unscoped().filter(
            team_id=cast.team_a.pk, user_id=cast.bob.user.pk
        ).update(role="viewer")

    job = work(job)

    assert (job.status, model.prompts) == ("failed", [])
    assert job.problem == f"You can view {WIKI} but not edit it."
    with pytest.raises(AccessDenied):
        services.retry_wiki_job(at_door(cast.vic), job_id=job.pk)
    with pytest.raises(NotFound):
        services.get_wiki_job(at_door(cast.carol), job_id=job.pk)
    assert work(services.retry_wiki_job(at_door(cast.ada), job_id=job.pk)).status == "done"


def test_contradictions_of_the_model_are_kept_with_the_revisions_that_it_read(
    alice: Person, model: Model
) -> None:
    ingest(alice, "Nobody drinks tea. See [[Kitchen]].", "Tea", "a")
    ingest(alice, "All love tea.", "Kitchen", "b")
    model.answer = '[{"pair": 1, "why": "nobody or all"}]'

    job = services.order_lint(at_door(alice), namespace=WIKI)

    assert job is not None
    (finding,) = work(job).result["findings"]
    assert (finding["kind"], finding["detail"], finding["revisions"]) == (
        "contradiction",
        "nobody or all",
        [1, 1],
    )


def test_erasing_who_asked_deletes_their_jobs(cast: Cast, model: Model) -> None:
    make_stale(cast.alice)
    job = work(order(cast.alice))

    receipt = services.erase(at_door(cast.alice), subject=str(cast.alice.user.pk))

    assert (receipt.tables["memory_wikijob"], receipt.left["memory_wikijob"]) == (1, 0)
    with pytest.raises(NotFound):
        services.get_wiki_job(at_door(cast.ada), job_id=job.pk)
