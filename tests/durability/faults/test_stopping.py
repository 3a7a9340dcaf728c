"""A worker that is asked to stop: what ends in time is not done again."""

from collections.abc import Callable
from pathlib import Path
from threading import Event

from tests.durability.conftest import Cluster, answer_from_now_on, asked
from tests.durability.faults.conftest import ask_to_stop, start_with_fault
from tests.fakes.openai_server import Answer, FakeOpenAI
from tests.support.cast import Cast
from workflows.models import Workflow
from workflows.services.runs.runs import start_run


def test_step_that_ends_within_the_time_to_stop_is_not_repeated(
    cluster: Cluster,
    cast: Cast,
    workflow: Callable[..., Workflow],
    ledger: FakeOpenAI,
    held: Answer,
    gate: Event,
    tmp_path: Path,
) -> None:
    answer_from_now_on(
        ledger, lambda request: held if request.last_message == "llm1" else Answer("done")
    )
    marker = tmp_path / "stopping"
    start_with_fault(cluster, "one", stopping=str(marker))
    run = start_run(cast.alice.principal, workflow=workflow("llm", "llm", "template-transform"))
    cluster.until(lambda: asked(ledger, "llm1"))

    ask_to_stop(cluster, "one", marker)
    gate.set()
    cluster.start("two")
    row = cluster.until_ended(run)

    assert (row["status"], row["kill_count"]) == ("succeeded", 0)
    assert (asked(ledger, "llm1"), asked(ledger, "llm2")) == (1, 1)
    cluster.check(run)
