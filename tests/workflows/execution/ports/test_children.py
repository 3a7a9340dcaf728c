"""Runs that a run starts: how many one start may begin, and what each may spend."""

import asyncio
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.db import connection

from accounts.tenancy import tenant
from tests.factories.workflows import document, make_journal, make_run, make_version, make_workflow
from tests.support.cast import Cast, Person
from tests.workflows.usage.test_counting import add_call, make_ended
from workflows.engine.errors import LimitReached, NestingNotAllowed
from workflows.engine.sub_workflows.children import count_call
from workflows.engine.sub_workflows.shares import Amount, Share
from workflows.engine.sub_workflows.spending import CallInProgress, Spending
from workflows.engine.sub_workflows.spending_limits import SpendingLimits
from workflows.execution.claims import Claim
from workflows.execution.db import Database
from workflows.execution.ports.children import (
    ChildDriver,
    ChildRuns,
    load_cost,
    parse_shares,
    start_child,
    store_spent,
)
from workflows.execution.ports.runs_below import build_reservation
from workflows.models import Run, Workflow


pytestmark = pytest.mark.django_db


def make_published(person: Person, name: str) -> Workflow:
    workflow = make_workflow(person, name, document(name))
    make_version(person, workflow)
    with tenant([person.team.pk]):
        workflow.refresh_from_db()
    return workflow


def claim_of(run: Run) -> Claim:
    with tenant([run.team_id]), connection.cursor() as cursor:
        cursor.execute("SELECT to_json(run) FROM workflows_run run WHERE id = %s", [run.pk])
        (row,) = cursor.fetchone()
    return Claim(run.pk, run.team_id, 1, 0, 0.0, row)


def take(run: Run) -> Claim:
    """Let this process execute the run, as a worker does."""
    with tenant([run.team_id]):
        Run.objects.unscoped().filter(pk=run.pk).update(attempt=1)
    return claim_of(run)


def begin(run: Run, key: str, slug: str, **options: Any) -> Run:
    inputs = {"text": "hello"}
    start_child(claim_of(run), key, slug, inputs, is_untrusted=False, **options)
    with tenant([run.team_id]):
        return Run.objects.unscoped().get(parent_id=run.pk, parent_key=key)


@pytest.fixture
def outer(cast: Cast) -> Run:
    for name in ("Middle", "Inner"):
        make_published(cast.alice, name)
    return make_run(cast.alice, make_published(cast.alice, "Outer"), status="running")


def test_start_begins_no_more_runs_than_allowed_at_all_depths(outer: Run, settings: Any) -> None:
    settings.RUN_MAX_RUNS_BELOW = 3
    child = begin(outer, "a", "middle")
    begin(outer, "b", "inner")
    begin(child, "a", "inner")

    for run, slug in ((outer, "middle"), (child, "inner")):
        with pytest.raises(NestingNotAllowed, match=r"at most 3 runs .* RUN_MAX_RUNS_BELOW"):
            begin(run, "one too many", slug)

    again = begin(child, "a", "inner")  # by a later attempt
    with tenant([outer.team_id]):
        assert Run.objects.unscoped().filter(parent__isnull=False).count() == 3
    assert again.parent_id == child.pk


def test_start_begins_no_further_run_once_those_below_have_used_up_their_steps(
    outer: Run, settings: Any
) -> None:
    """Steps of all runs below it count, and the rounds of their agents, but none of its own."""
    make_journal(outer)
    child = begin(outer, "a", "middle")
    below = begin(child, "a", "inner")
    make_journal(child)  # a step and a round
    add_call(below, "1.model", 0.5)

    settings.RUN_MAX_STEPS_BELOW = 4
    begin(outer, "b", "inner")

    settings.RUN_MAX_STEPS_BELOW = 3
    for run, slug in ((outer, "middle"), (child, "inner")):
        with pytest.raises(NestingNotAllowed, match=r"at most 3 steps .* RUN_MAX_STEPS_BELOW"):
            begin(run, "one too many", slug)


async def call_model(run: Run) -> None:
    claim = await sync_to_async(take)(run)
    spending = Spending(reserve_steps=build_reservation(claim, claim))
    await spending.end_call(await spending.begin_call(Amount()), None)


@pytest.mark.django_db(transaction=True)
def test_run_that_goes_on_makes_no_call_once_those_of_its_start_have_used_up_their_steps(
    outer: Run, settings: Any
) -> None:
    """The run that somebody started is under limits of its own."""
    settings.RUN_MAX_STEPS_BELOW = 3
    child = begin(outer, "a", "middle")
    beside = begin(outer, "b", "inner")
    below = begin(child, "a", "inner")
    make_journal(beside)  # a step and a round
    async_to_sync(call_model)(child)
    add_call(child, "1.model", 0.5)

    for run in (child, beside, below):
        with pytest.raises(LimitReached, match=r"at most 3 steps .* RUN_MAX_STEPS_BELOW"):
            async_to_sync(call_model)(run)
    async_to_sync(call_model)(outer)


async def call_at_once(runs: list[Spending], count: int) -> int:
    """Begin so many calls of each run at the same time, and return how many of them are in progress then."""
    calls = [run.begin_call(Amount()) for run in runs for _number in range(count)]
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(each, CallInProgress | LimitReached) for each in results)
    return sum(isinstance(each, CallInProgress) for each in results)


@pytest.mark.django_db(transaction=True)
def test_calls_in_progress_reserve_the_steps_of_their_start(outer: Run, settings: Any) -> None:
    """Those that reserve the last steps at the same moment may all be refused, and never go beyond the limit."""
    settings.RUN_MAX_STEPS_BELOW = 5
    rows = [begin(outer, key, "middle") for key in "abc"]
    make_journal(rows[0])  # a step and a round
    claims = [take(row) for row in rows]
    runs = [Spending(reserve_steps=build_reservation(claim, claim)) for claim in claims]

    async def call_three_times() -> tuple[int, int, int]:
        first = await call_at_once(runs[1:2], 2)
        more = await call_at_once(runs, 3)
        return first, more, await call_at_once(runs[2:], 1)

    first, more, last = async_to_sync(call_three_times)()

    assert first == 2
    assert more <= 1
    assert more + last == 1  # what was refused is free again


@pytest.mark.django_db(transaction=True)
def test_call_that_is_refused_gives_its_step_back(outer: Run, settings: Any) -> None:
    settings.RUN_MAX_STEPS_BELOW = 2
    claims = [take(begin(outer, key, "middle")) for key in "ab"]
    first, second = (Spending(reserve_steps=build_reservation(each, each)) for each in claims)

    async def call_again() -> None:
        call = await first.begin_call(Amount())
        await second.begin_call(Amount())
        with pytest.raises(LimitReached):
            await second.begin_call(Amount())
        await first.end_call(call, None)
        await first.begin_call(Amount())

    async_to_sync(call_again)()


@pytest.mark.django_db(transaction=True)
def test_recorded_steps_take_the_place_of_those_that_were_reserved(
    outer: Run, settings: Any
) -> None:
    settings.RUN_MAX_STEPS_BELOW = 3
    child, beside = begin(outer, "a", "middle"), begin(outer, "b", "inner")
    async_to_sync(call_model)(child)
    make_journal(child)  # that call, and another step

    async_to_sync(call_model)(child)

    with pytest.raises(LimitReached):
        async_to_sync(call_model)(beside)


@pytest.mark.django_db(transaction=True)
def test_calls_of_rounds_on_other_workers_reserve_steps_of_the_run_that_they_are_part_of(
    cast: Cast, outer: Run, settings: Any
) -> None:
    settings.RUN_MAX_STEPS_BELOW = 2
    child = begin(outer, "a", "middle")
    ranges = [
        make_run(cast.alice, outer.workflow, parent=child, parent_key=key, rounds={"from": 0})
        for key in "ab"
    ]

    async def call_in(rounds: Run) -> None:
        claim, acting = await sync_to_async(take)(rounds), await sync_to_async(claim_of)(child)
        await Spending(reserve_steps=build_reservation(claim, acting)).begin_call(Amount())

    for each in ranges:
        async_to_sync(call_in)(each)

    with pytest.raises(LimitReached):
        async_to_sync(call_model)(child)


def test_starts_are_counted_apart_and_rounds_are_no_runs(
    cast: Cast, outer: Run, settings: Any
) -> None:
    settings.RUN_MAX_RUNS_BELOW = 1
    other = make_run(cast.alice, outer.workflow, status="running")
    rounds = make_run(
        cast.alice, outer.workflow, parent=outer, parent_key="rounds", rounds={"from": 0}
    )

    begin(other, "a", "inner")
    begin(rounds, "a", "inner")

    with pytest.raises(NestingNotAllowed):
        begin(outer, "a", "inner")


@pytest.mark.parametrize(
    ("limits", "stored"),
    [
        (SpendingLimits(max_tokens=70, max_cost=0.5), {"max_tokens": 70, "max_cost": 0.5}),
        (SpendingLimits(), None),
    ],
)
def test_child_keeps_what_the_agent_above_it_has_left(
    outer: Run, limits: SpendingLimits, stored: Any
) -> None:
    child = begin(outer, "a", "inner", limits=limits)

    row = claim_of(child).row
    assert row["spending_limits"] == stored
    assert SpendingLimits.from_json(row["spending_limits"]) == limits


@pytest.mark.parametrize("is_chosen", [True, False])
def test_child_keeps_that_outside_text_may_have_chosen_it(outer: Run, is_chosen: bool) -> None:
    child = begin(outer, "a", "inner", is_chosen=is_chosen)

    assert claim_of(child).row["is_chosen_by_untrusted"] is is_chosen


@pytest.mark.django_db(transaction=True)
def test_call_has_begun_once_an_earlier_attempt_has_started_its_child(outer: Run) -> None:
    begin(outer, "a", "inner")
    claim = claim_of(outer)

    async def ask() -> list[bool]:
        db = Database()
        driver = ChildDriver(db, drive=_never, start_task=_never)
        children = ChildRuns(claim, driver, is_abandoned=lambda: False)
        try:
            answers = [await children.has_begun(key) for key in ("a", "b")]
            count_call(children._calls, "a")  # what follows is a retry, with a child of its own
            return [*answers, await children.has_begun("a")]
        finally:
            await db.close()

    assert asyncio.run(ask()) == [True, False, False]


def _never(_work: Any) -> Any:
    raise AssertionError("nothing is driven here")


def test_child_knows_the_words_of_memories_in_its_inputs_and_returns_those_in_its_outputs(
    outer: Run,
) -> None:
    child = begin(outer, "a", "inner", memories=("doorcode4711",))
    with tenant([outer.team_id]):
        Run.objects.unscoped().filter(pk=child.pk).update(memories_in_outputs=["beatrix"])

    assert claim_of(child).row["memories_in_inputs"] == ["doorcode4711"]
    with tenant([outer.team_id]), connection.cursor() as cursor:
        cursor.execute("SELECT execution_find_child(%s, %s, 'a')", [outer.team_id, outer.pk])
        (row,) = cursor.fetchone()
    assert row["memories_in_outputs"] == ["beatrix"]


def test_cost_of_a_child_is_known_at_its_end_with_that_of_the_runs_below_it(cast: Cast) -> None:
    workflow = make_workflow(cast.alice)
    parent = make_run(cast.alice, workflow, status="running")
    child = make_ended(cast.alice, workflow, parent=parent, parent_key="k")
    below = make_ended(cast.alice, workflow, parent=child, parent_key="k")
    add_call(child, "1.model", 0.5)
    add_call(below, "1.model", 0.25)

    cost = load_cost(cast.team_a.pk, UUID(str(child.pk)))

    assert cost == 0.75


def test_cost_of_a_child_counts_what_no_step_says_that_it_has_spent(cast: Cast) -> None:
    """A branch that is given up after its model has answered leaves no step."""
    workflow, limits = make_workflow(cast.alice), SpendingLimits(max_cost=1.0)
    child = make_ended(cast.alice, workflow, attempt=1)
    add_call(child, "1.model", 0.5)

    store_spent(claim_of(child), limits, [Share("calls", limits)], 0.75)

    assert load_cost(cast.team_a.pk, UUID(str(child.pk))) == 0.75
    with tenant([child.team_id]):
        child.refresh_from_db()
    assert SpendingLimits.from_json(child.spending_limits) == limits
    assert parse_shares(child.spending_limits) == (Share("calls", limits),)
