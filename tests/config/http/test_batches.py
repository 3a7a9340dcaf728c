"""Questions that wait at the same time are answered together, and each is answered."""

import asyncio
from collections.abc import Sequence

import pytest

from config.http.batches import Batches


async def test_question_asked_as_the_last_worker_ends_is_answered() -> None:
    async def repeat(questions: Sequence[int]) -> Sequence[int]:
        return questions

    async def ask_after(steps: int) -> int:
        for _step in range(steps):
            await asyncio.sleep(0)
        async with asyncio.timeout(90):
            return await batches.ask(steps)

    answers = []
    for later_steps in range(1, 6):
        batches: Batches[int, int] = Batches(repeat, size=10, at_once=1)
        first, later = await asyncio.gather(ask_after(0), ask_after(later_steps))
        answers.append((first, later))

    assert answers == [(0, later_steps) for later_steps in range(1, 6)]


async def test_questions_that_wait_are_answered_together_and_equal_ones_once() -> None:
    batches_seen: list[list[str]] = []
    is_open = asyncio.Event()

    async def spell(questions: Sequence[str]) -> Sequence[str]:
        batches_seen.append(list(questions))
        await is_open.wait()
        return [question.upper() for question in questions]

    batches = Batches(spell, size=2, at_once=1)
    asked = [asyncio.create_task(batches.ask(question)) for question in "abcbd"]
    await asyncio.sleep(0)
    is_open.set()
    answers = await asyncio.gather(*asked)

    assert answers == list("ABCBD")
    assert batches_seen == [["a", "b"], ["c", "d"]]


async def test_failed_batch_fails_its_own_questions_only() -> None:
    async def refuse_zero(questions: Sequence[int]) -> Sequence[int]:
        if 0 in questions:
            raise ValueError("zero")
        return questions

    batches = Batches(refuse_zero, size=1, at_once=1)

    answers = await asyncio.gather(
        *(batches.ask(each) for each in range(3)), return_exceptions=True
    )

    assert [repr(answer) for answer in answers] == ["ValueError('zero')", "1", "2"]


async def test_answers_that_are_missing_fail_their_batch() -> None:
    async def drop_one(questions: Sequence[int]) -> Sequence[int]:
        return questions[1:]

    batches = Batches(drop_one, size=2, at_once=1)

    async with asyncio.timeout(90):
        answers = await asyncio.gather(batches.ask(1), batches.ask(2), return_exceptions=True)

    assert [type(answer) for answer in answers] == [ValueError, ValueError]


async def test_question_whose_asker_left_leaves_the_answer_to_the_others() -> None:
    is_open = asyncio.Event()

    async def repeat(questions: Sequence[int]) -> Sequence[int]:
        await is_open.wait()
        return questions

    batches = Batches(repeat, size=10, at_once=1)
    leaves, stays = (asyncio.create_task(batches.ask(1)) for _ in range(2))
    await asyncio.sleep(0)
    leaves.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaves
    is_open.set()

    assert await stays == 1
