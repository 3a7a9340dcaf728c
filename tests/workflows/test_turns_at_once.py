"""What arrives at the same moment: all turns of a conversation are taken, one after the other, and one answer of two."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from accounts.models import AuditEntry
from accounts.tenancy import tenant
from tests.factories.workflows import make_run, make_workflow
from tests.support.cast import Cast
from tests.workflows.test_waits import answer, ask
from workflows.errors import RunNotPaused, WaitClosed
from workflows.models import Message, Run, RunWait
from workflows.services.debugging.pauses import resume_run
from workflows.services.runs.runs import start_run
from workflows.services.samples.samples import copy_sample


pytestmark = pytest.mark.django_db(transaction=True)
TURNS = 6


def test_turns_that_begin_at_once_in_a_new_conversation_all_begin(cast: Cast) -> None:
    chat = copy_sample(cast.alice.principal, team_id=cast.team_a.pk, slug="chatbot")
    principal = cast.alice.principal

    def begin(number: int) -> UUID:
        try:
            # one transaction, as a request is
            with tenant([cast.team_a.pk]):
                return start_run(
                    principal, workflow=chat, query=f"turn {number}", conversation="c1"
                ).pk
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        begun = set(pool.map(begin, range(TURNS)))

    with tenant([cast.team_a.pk]):
        numbers = Message.objects.unscoped().order_by("number").values_list("number", flat=True)
        assert set(Run.objects.unscoped().values_list("pk", flat=True)) == begun
        assert list(numbers) == list(range(1, TURNS + 1))


def test_one_of_several_answers_to_a_question_is_taken_and_the_others_are_told(cast: Cast) -> None:
    wait = ask(cast.alice)

    def reply(comment: str) -> str:
        try:
            with tenant([cast.team_a.pk]):
                values: Any = {"comment": comment, "stars": 4}
                answer(cast.alice, wait, **values)
                return comment
        except WaitClosed as closed:
            return str(closed)
        finally:
            connection.close()

    comments = [f"comment {number}" for number in range(TURNS)]
    with ThreadPoolExecutor(TURNS) as pool:
        replies = list(pool.map(reply, comments))

    (taken,) = [reply for reply in replies if reply in comments]
    assert sum("already" in reply for reply in replies) == TURNS - 1
    with tenant([cast.team_a.pk]):
        answered = RunWait.objects.unscoped().get(pk=wait.pk)
        run = Run.objects.unscoped().get(pk=wait.run_id)
        assert answered.values["comment"] == taken
        assert run.status == "queued"
        assert list(run.events.values_list("name", flat=True)) == ["run_resumed"]
        assert AuditEntry.objects.unscoped().filter(action="run.answered").count() == 1


def test_one_of_several_resumes_of_a_run_is_made(cast: Cast) -> None:
    run = make_run(
        cast.alice,
        make_workflow(cast.alice),
        status="paused",
        pause={"reason": "breakpoint", "at": 1.0},
        debug={"breakpoints": ["end"]},
    )
    principal = cast.alice.principal

    def resume(_number: int) -> str:
        try:
            with tenant([cast.team_a.pk]):
                return resume_run(principal, run, mode="step").status
        except RunNotPaused:
            return "refused"
        finally:
            connection.close()

    with ThreadPoolExecutor(TURNS) as pool:
        results = sorted(pool.map(resume, range(TURNS)))

    assert results == ["queued", *["refused"] * (TURNS - 1)]
    with tenant([cast.team_a.pk]):
        entries = AuditEntry.objects.unscoped().filter(action="run.resumed")
        assert entries.count() == 1
