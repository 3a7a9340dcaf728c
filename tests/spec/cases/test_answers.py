"""Case 12: two answers at once wake the run by a signal, once each, and nobody has to search for it."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from django.db import connection

from accounts.tenancy import tenant
from tests.factories.workflows import make_workflow
from tests.spec.cases.documents import TWO_FORMS
from tests.support.cast import Cast
from tests.support.waiting import until
from workflows.execution import worker as workers
from workflows.execution.journal.journal import DurableJournal
from workflows.execution.worker import Worker
from workflows.models import Run
from workflows.services.runs import waits
from workflows.services.runs.runs import start_run


pytestmark = pytest.mark.django_db(transaction=True)

NEVER = 86_400.0  # seconds between two searches for runs that nobody was told about


def test_12_answer_that_comes_while_the_run_is_at_work_continues_it_by_a_signal(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "QUEUE_INTERVAL", NEVER)
    monkeypatch.setattr(workers, "RECOVERY_INTERVAL", NEVER)
    run = start_run(cast.alice.principal, workflow=make_workflow(cast.alice, source=TWO_FORMS),
                    inputs={"ticket": "7"}, version=None)  # fmt: skip
    pause = DurableJournal.pause
    states: list[Any] = []  # of each pause

    def answer(node: str, name: str, value: str) -> None:
        with tenant([run.team_id]):
            wait = waits.list_waits(cast.alice.principal, run).get(node_key=node)
            waits.answer_wait(cast.alice.principal, run, wait_id=wait.pk, values={name: value}, action="ok")  # fmt: skip

    def answer_in_a_thread() -> None:
        try:
            answer("boss", "second", "B")
        finally:
            connection.close()

    async def pause_after_the_other_answer(
        journal: DurableJournal, events: Sequence[Any], state: Any
    ) -> None:
        states.append(state)
        # The first answer is read, and the run is about to wait for the other one.
        if len(states) == 2:
            await asyncio.to_thread(answer_in_a_thread)
        await pause(journal, events, state)

    monkeypatch.setattr(DurableJournal, "pause", pause_after_the_other_answer)
    worker = Worker(capacity=1)
    worker.start()
    try:
        worker.wake()
        until(lambda: load(run).status == "paused")
        answer("clerk", "first", "A")
        worker.wake()
        until(lambda: load(run).has_ended)
    finally:
        worker.stop(0)

    ended = load(run)
    assert (ended.status, ended.outputs, ended.attempt) == ("succeeded", {"out": "A and B"}, 3)
    assert len(states) == 2
    with tenant([run.team_id]):
        names = [*run.events.values_list("name", flat=True)]
    assert (names.count("run_paused"), names.count("run_resumed")) == (2, 2)


def load(run: Run) -> Run:
    with tenant([run.team_id]):
        return Run.objects.unscoped().get(pk=run.pk)
