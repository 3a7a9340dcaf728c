"""The places of a pool of runners: whose job comes next, and that waiting for one is not the step's time."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.support.movable_time import movable_time
from tests.support.waiting import LIMIT, until_async
from workflows.engine.ports import CodeRequest
from workflows.engine.runtime.waits import measure_step
from workflows.sandbox.code_pool import CodePool
from workflows.sandbox.monty import MontyRunner
from workflows.sandbox.places import Owner, Places, get_owner, run_for
from workflows.sandbox.pool import RunnerPool


ENDLESS = "def main():\n    while True: pass"
QUICK = "def main(): return 1"


async def run_jobs(places: Places, owners: list[Owner]) -> list[Owner]:
    """Let jobs of these owners wait while the only place is held, and return the order in which they get it."""
    order: list[Owner] = []

    async def run_job(owner: Owner) -> None:
        async with places.hold(owner):
            order.append(owner)
            await asyncio.sleep(0)

    async with places.hold(Owner("before", "")):
        jobs = [asyncio.create_task(run_job(owner)) for owner in owners]
        await asyncio.sleep(0)
    await asyncio.gather(*jobs)
    return order


async def test_teams_take_turns_and_so_do_their_workflows() -> None:
    first, second, other = Owner("a", "1"), Owner("a", "2"), Owner("b", "3")

    order = await run_jobs(Places(1), [first, first, first, second, second, other])

    assert order == [first, other, second, first, second, first]


async def test_job_that_is_cancelled_while_it_waits_leaves_its_place_to_the_next() -> None:
    places = Places(1)

    async def run_job(owner: Owner) -> str:
        async with places.hold(owner):
            return "ran"

    async with places.hold(Owner("a")):
        cancelled = asyncio.create_task(run_job(Owner("a")))
        waiting = asyncio.create_task(run_job(Owner("b")))
        await asyncio.sleep(0)
        cancelled.cancel()
    assert await asyncio.wait_for(waiting, LIMIT) == "ran"
    assert await asyncio.wait_for(run_job(Owner("c")), LIMIT) == "ran"


async def test_team_alone_leaves_a_place_for_the_first_job_of_another() -> None:
    places, release = Places(4), asyncio.Event()
    held: list[str] = []

    async def hold(team: str) -> None:
        async with places.hold(Owner(team)):
            held.append(team)
            await release.wait()

    jobs = [asyncio.create_task(hold("a")) for _ in range(10)]
    await until_async(lambda: len(held) >= 3)
    jobs.append(asyncio.create_task(hold("b")))
    await until_async(lambda: "b" in held)

    assert held == ["a", "a", "a", "b"]
    release.set()
    await asyncio.gather(*jobs)


async def test_waiting_for_a_place_is_no_part_of_the_time_limit_and_is_measured() -> None:
    places = Places(1)
    with movable_time() as time, measure_step() as outer, measure_step() as step:
        async with places.hold(Owner("a")):

            async def wait_and_work() -> float:
                async with outer.limit(600), step.limit(500), places.hold(Owner("b")):
                    await asyncio.sleep(0)
                    return step.waited

            job = asyncio.create_task(wait_and_work())
            await until_async(lambda: step._waiting)
            time.let_pass(3600)
            await asyncio.sleep(0)
        waited = await job

    assert waited == pytest.approx(3600, abs=300)  # and what passed meanwhile


async def test_time_limit_counts_again_after_the_wait() -> None:
    places, works = Places(1), asyncio.Event()
    with movable_time() as time, measure_step() as step:
        async with places.hold(Owner("a")):

            async def wait_and_work() -> None:
                async with step.limit(600), places.hold(Owner("b")):
                    works.set()
                    await asyncio.Event().wait()

            job = asyncio.create_task(wait_and_work())
            await until_async(lambda: step._waiting)
            time.let_pass(3600)
        await works.wait()
        time.let_pass(601)
        with pytest.raises(TimeoutError):
            await job


@pytest.fixture
def code_pool() -> Iterator[CodePool]:
    pool = CodePool({"python3": MontyRunner(RunnerPool(program="code_child"))})
    yield pool
    pool.close()


async def test_endless_loops_of_one_team_dont_keep_the_code_of_another_waiting(
    code_pool: CodePool, jobs_taken: list[int]
) -> None:
    async def run(team: str, source: str, seconds: float) -> None:
        with run_for(team, team):
            await code_pool.run(CodeRequest("python3", source, {}, seconds))

    loops = [asyncio.create_task(run("a", ENDLESS, 3600.0)) for _ in range(20)]
    await until_async(lambda: jobs_taken)
    await run("b", QUICK, 60.0)
    ended = [loop for loop in loops if loop.done()]
    for loop in loops:
        loop.cancel()
    await asyncio.gather(*loops, return_exceptions=True)

    assert ended == []


async def test_job_of_nobody_gets_a_place_too() -> None:
    async with asyncio.timeout(LIMIT), Places(1).hold(get_owner()):
        assert get_owner() == Owner()
