"""A worker that is asked to stop: what ends in time is not done again."""

import signal
from collections.abc import Callable

from tests.durability.conftest import Cluster, answer_from_now_on, asked
from tests.fakes.openai_server import Answer, FakeOpenAI
from tests.support.cast import Cast
from workflows.models import Workflow
from workflows.services.runs.runs import start_run


def test_step_that_ends_within_the_time_to_stop_is_not_repeated(
    cluster: Cluster, cast: Cast, workflow: Callable[..., Workflow], ledger: FakeOpenAI
) -> None:
    answer_from_now_on(
        ledger,
        lambda request: (
            Answer("one two three", delay=0.4) if request.last_message == "llm1" else "done"
        ),
    )
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=workflow("llm", "llm", "template-transform"))
    cluster.until(lambda: asked(ledger, "llm1"))

    cluster.signal(signal.SIGTERM, "one")
    cluster.start("two")
    row = cluster.until_ended(run)

    assert (row["status"], row["kill_count"]) == ("succeeded", 0)
    assert (asked(ledger, "llm1"), asked(ledger, "llm2")) == (1, 1)
    cluster.check(run)
