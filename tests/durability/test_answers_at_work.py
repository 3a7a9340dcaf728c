"""Answers that come while the run goes on with an earlier one, through real workers."""

from threading import Event

from tests.durability.conftest import Cluster, answer_from_now_on, asked
from tests.durability.test_debugging import made
from tests.durability.test_waits import answer, ask, begin, graph, llm, names, until_paused
from tests.fakes.openai_server import Answer, FakeOpenAI
from tests.support.cast import Cast


TWO_AND_A_MODEL = graph(
    [ask("first"), ask("second"), llm("busy")],
    ["start>first", "start>second", "first:send>busy", "busy>end", "second:send>end"],
    first=["first", "name"],
    second=["second", "name"],
)


def test_second_answer_while_the_run_goes_on_with_the_first_resumes_it_too(
    cluster: Cluster, cast: Cast, models: None, ledger: FakeOpenAI, held: Answer, gate: Event
) -> None:
    answer_from_now_on(ledger, held)
    workflow = made(cast, TWO_AND_A_MODEL)
    cluster.start()
    run = begin(cast, workflow)
    until_paused(cluster, run)
    answer(cast, run, "first", name="One")
    cluster.until(lambda: asked(ledger, "busy"))

    answer(cast, run, "second", name="Two")
    gate.set()

    assert cluster.until_ended(run)["outputs"] == {"first": "One", "second": "Two"}
    log = [name for name in names(cluster, run) if name in ("run_paused", "run_resumed")]
    assert log == ["run_paused", "run_resumed"] * 2
    cluster.check(run)
