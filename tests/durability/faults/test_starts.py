"""Between the commit of a run and the message about it."""

from collections.abc import Callable

import pytest
from django.db import transaction
from redis import Redis

from accounts.tenancy import tenant
from tests.durability.conftest import Cluster, answer_from_now_on, asked
from tests.fakes.openai_server import FakeOpenAI
from tests.support.cast import Cast
from workflows.models import Run, Workflow
from workflows.services.runs.runs import start_run
from workflows.tasks import advance_run


def test_process_that_dies_before_it_sends_the_message_leaves_a_run_that_is_found(
    cluster: Cluster, cast: Cast, workflow: Callable[..., Workflow], ledger: FakeOpenAI,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    answer_from_now_on(ledger, "done")
    monkeypatch.setattr(advance_run, "apply_async", lambda *_values, **_named: None)
    broker = Redis.from_url(cluster.environment["REDIS_URL"])
    broker.flushdb()  # what earlier tests left
    run = start_run(cast.alice.principal, workflow=workflow("llm"))
    assert broker.llen("mnemoflow") == 0

    cluster.start("one")
    row = cluster.until_ended(run)

    assert (row["status"], asked(ledger, "llm1")) == ("succeeded", 1)


def test_rolled_back_start_runs_nothing_and_sends_no_message(
    cluster: Cluster, cast: Cast, workflow: Callable[..., Workflow], ledger: FakeOpenAI
) -> None:
    made = workflow("llm")
    Redis.from_url(cluster.environment["REDIS_URL"]).flushdb()  # what earlier tests left
    with tenant([cast.team_a.pk]):
        with transaction.atomic():
            run = start_run(cast.alice.principal, workflow=made)
            transaction.set_rollback(True)
        assert not Run.objects.unscoped().filter(pk=run.pk).exists()

    assert Redis.from_url(cluster.environment["REDIS_URL"]).llen("mnemoflow") == 0
    # A message about a run that never was harms nobody.
    advance_run.apply_async((str(run.pk),))
    cluster.start("one")
    later = cluster.until_ended(start_run(cast.alice.principal, workflow=made))

    assert (later["status"], asked(ledger, "llm1")) == ("succeeded", 1)
