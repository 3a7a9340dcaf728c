"""A worker killed -9 during a call: what ``retry_safety`` says is repeated, and what a person decides."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from accounts.models import AuditEntry
from accounts.tenancy import tenant
from tests.durability.conftest import Cluster, answer_from_now_on, asked
from tests.durability.faults.conftest import ask_to_stop, start_with_fault
from tests.durability.test_debugging import made
from tests.durability.test_waits import graph
from tests.fakes.http_server import FakeHttp, Reply
from tests.fakes.openai_server import Answer, FakeOpenAI
from tests.support.cast import Cast
from workflows.models import Run, RunWait, StepIntent
from workflows.run_filters import UNCERTAIN, RunFilter
from workflows.services.runs import waits
from workflows.services.runs.runs import start_run


QUICK = Reply(201, b"done")


@pytest.fixture
def shop(cluster: Cluster) -> Iterator[FakeHttp]:
    """The service that is called: its list of requests is the ledger of effects."""
    with FakeHttp() as server:
        cluster.environment["NET_ALLOW"] = server.address
        yield server


@pytest.fixture
def late(gate: Event) -> Reply:
    """The answer of a service that keeps the caller waiting until the gate opens."""
    return Reply(201, b"late", gate=gate)


def build_call(
    shop: FakeHttp, node: str, safety: str | None, method: str = "POST", **data: Any
) -> dict[str, Any]:
    chosen = {"retry_safety": safety} if safety else {}
    return {
        "id": node,
        "data": {
            "type": "http-request",
            "title": node.capitalize(),
            "method": method,
            "url": f"{shop.base_url}/orders",
            **chosen,
            **data,
        },
    }


def order(shop: FakeHttp, safety: str | None, method: str = "POST") -> dict[str, Any]:
    """start → order (a request) → end"""
    return graph(
        [build_call(shop, "order", safety, method)],
        ["start>order", "order>end"],
        status=["order", "status_code"],
        body=["order", "body"],
    )


def begin(cast: Cast, document: dict[str, Any]) -> Run:
    return start_run(cast.alice.principal, workflow=made(cast, document), inputs={})


def lose_call(cluster: Cluster, shop: FakeHttp, run: Run) -> None:
    """Kill the worker while its request is with the service, and start another one."""
    cluster.until(lambda: shop.requests)
    cluster.kill("one")
    shop._replies = [QUICK]
    cluster.expire_leases()
    cluster.start("two")


Lose = Callable[[dict[str, Any]], Run]


@pytest.fixture
def run_and_lose(cluster: Cluster, cast: Cast, shop: FakeHttp, late: Reply) -> Lose:
    """Start a run of the document, whose call is then lost."""

    def run_document(document: dict[str, Any]) -> Run:
        shop.answers(late)
        cluster.start("one")
        run = begin(cast, document)
        lose_call(cluster, shop, run)
        return run

    return run_document


def until_uncertain(cluster: Cluster, run: Run) -> RunWait:
    cluster.until(lambda: cluster.row(run)["status"] == "paused")
    with tenant([run.team_id]):
        return RunWait.objects.unscoped().get(run=run, answered_at=None)


def decide(cast: Cast, run: Run, wait: RunWait, action: str, **values: Any) -> None:
    waits.answer_wait(cast.alice.principal, run, wait_id=wait.pk, values=values, action=action)


def keys(shop: FakeHttp) -> list[str | None]:
    return [request.headers.get("idempotency-key") for request in shop.requests]


def list_shown(cast: Cast, **filters: Any) -> list[Any]:
    with tenant([cast.team_a.pk]):
        rows = Run.objects.visible_to(cast.alice.principal)
        return list(RunFilter(**filters).apply(rows).values_list("pk", flat=True))


@pytest.mark.parametrize(("safety", "method"), [(None, "POST"), ("safe", "POST"), ("ask", "GET")])
def test_call_that_may_be_repeated_is_repeated_under_its_key_and_counted(
    safety: str | None,
    method: str,
    cluster: Cluster,
    cast: Cast,
    shop: FakeHttp,
    run_and_lose: Lose,
) -> None:
    run = run_and_lose(order(shop, safety, method))
    row = cluster.until_ended(run)

    assert (row["status"], row["outputs"]) == ("succeeded", {"status": 201, "body": "done"})
    assert [request.method for request in shop.requests] == [method, method]
    expected = None if method == "GET" else f"{run.pk}:order:"
    assert keys(shop) == [expected, expected]
    with tenant([run.team_id]):
        assert Run.objects.unscoped().get(pk=run.pk).repeated_calls == 1
    detail = cast.alice.client.get(f"/api/v1/runs/{run.pk}").json()
    assert detail["repeated_calls"] == 1
    page = cast.alice.client.get(f"/runs/{run.pk}/").content.decode()
    assert "1 call repeated" in page
    cluster.check(run)


@pytest.mark.parametrize(("safety", "method"), [("ask", "POST"), ("never", "GET")])
def test_uncertain_call_waits_for_a_person_who_says_that_it_happened(
    safety: str, method: str, cluster: Cluster, cast: Cast, shop: FakeHttp, run_and_lose: Lose
) -> None:
    run = run_and_lose(order(shop, safety, method))
    wait = until_uncertain(cluster, run)
    shown = list_shown(cast, status=UNCERTAIN)
    page = cast.alice.client.get(f"/runs/{run.pk}/").content.decode()

    decide(cast, run, wait, "happened", outputs={"status_code": 201, "body": "by hand"})
    row = cluster.until_ended(run)

    assert wait.form["type"] == "uncertain"
    assert wait.form["arguments"]["url"] == f"{shop.base_url}/orders"
    assert shown == [run.pk]
    assert all(text in page for text in ("It happened", "Call again", "Stop the run"))
    assert set(wait.form["inputs"][0]["example"]) == {"status_code", "body"}
    assert "Let somebody else answer" not in page
    assert (row["status"], row["outputs"]) == ("succeeded", {"status": 201, "body": "by hand"})
    assert len(shop.requests) == 1
    with tenant([run.team_id]):
        entry = AuditEntry.objects.unscoped().filter(action="run.answered").get()
        assert Run.objects.unscoped().get(pk=run.pk).repeated_calls == 0
    assert (entry.detail["node"], entry.detail["chosen"]) == ("order", "happened")
    cluster.check(run)


def test_person_lets_an_uncertain_call_happen_again(
    cluster: Cluster, cast: Cast, shop: FakeHttp, run_and_lose: Lose
) -> None:
    run = run_and_lose(order(shop, "never"))
    wait = until_uncertain(cluster, run)

    decide(cast, run, wait, "again")
    row = cluster.until_ended(run)

    assert (row["status"], row["outputs"]["body"]) == ("succeeded", "done")
    assert keys(shop) == [f"{run.pk}:order:"] * 2
    with tenant([run.team_id]):
        assert Run.objects.unscoped().get(pk=run.pk).repeated_calls == 1
    cluster.check(run)


def test_person_stops_a_run_with_an_uncertain_call(
    cluster: Cluster, cast: Cast, shop: FakeHttp, run_and_lose: Lose
) -> None:
    run = run_and_lose(order(shop, "never"))
    wait = until_uncertain(cluster, run)

    decide(cast, run, wait, "stop")
    row = cluster.until_ended(run)

    assert row["status"] == "stopped"
    assert len(shop.requests) == 1
    cluster.check(run)


def test_call_lost_again_is_decided_again(
    cluster: Cluster, cast: Cast, shop: FakeHttp, late: Reply, run_and_lose: Lose
) -> None:
    run = run_and_lose(order(shop, "never"))
    first = until_uncertain(cluster, run)
    shop._replies = [late]

    decide(cast, run, first, "again")
    cluster.until(lambda: len(shop.requests) == 2)
    cluster.kill("two")
    cluster.expire_leases()
    cluster.start("three")
    second = until_uncertain(cluster, run)
    decide(cast, run, second, "happened")
    row = cluster.until_ended(run)

    assert (first.part, second.part) == ("uncertain.1", "uncertain.3")
    assert row["status"] == "succeeded"
    assert len(shop.requests) == 2
    cluster.check(run)


def test_call_that_has_ended_is_never_uncertain(
    cluster: Cluster, cast: Cast, shop: FakeHttp, late: Reply
) -> None:
    """The worker dies after the call, in the next node."""
    first = build_call(shop, "order", "never")
    slow = build_call(shop, "slow", "safe", url=f"{shop.base_url}/slow")
    document = graph(
        [first, slow], ["start>order", "order>slow", "slow>end"], body=["order", "body"]
    )
    shop.answers(QUICK, late)
    cluster.start("one")
    run = begin(cast, document)
    cluster.until(lambda: len(shop.requests) == 2)

    cluster.kill("one")
    shop._replies = [QUICK]
    cluster.expire_leases()
    cluster.start("two")
    row = cluster.until_ended(run)

    assert ("order", "succeeded", 1) in cluster.steps(run)
    assert (row["status"], row["outputs"]) == ("succeeded", {"body": "done"})
    assert [request.path for request in shop.requests] == ["/orders", "/slow", "/slow"]
    cluster.check(run)


def test_worker_that_is_asked_to_stop_waits_for_a_call_that_must_not_be_repeated(
    cluster: Cluster, cast: Cast, shop: FakeHttp, late: Reply, gate: Event
) -> None:
    """It hands over another run meanwhile, whose call may be repeated."""
    shop.answers(late, late, QUICK)
    cluster.start("one")
    run = begin(cast, order(shop, "never"))
    cluster.until(lambda: shop.requests)
    other = begin(cast, order(shop, "safe"))
    cluster.until(lambda: len(shop.requests) == 2)

    cluster.signal(signal.SIGTERM, "one")
    cluster.start("two")
    handed_over = cluster.until_ended(other)
    meanwhile = cluster.row(run)
    gate.set()
    row = cluster.until_ended(run)

    assert (handed_over["attempt"], handed_over["outputs"]["body"]) == (2, "done")
    assert (meanwhile["status"], meanwhile["attempt"]) == ("running", 1)
    assert (row["status"], row["outputs"]["body"]) == ("succeeded", "late")
    assert ("order", "succeeded", 1) in cluster.steps(run)
    assert len(shop.requests) == 3
    cluster.check(run)


def test_worker_that_stops_leaves_further_calls_to_another_one(
    cluster: Cluster, cast: Cast, shop: FakeHttp, gate: Event, tmp_path: Path
) -> None:
    first, second = (build_call(shop, name, "never") for name in ("first", "second"))
    document = graph(
        [first, second], ["start>first", "first>second", "second>end"], body=["second", "body"]
    )
    shop.answers(Reply(201, b"first", gate=gate), Reply(201, b"second"))
    marker = tmp_path / "stopping"
    start_with_fault(cluster, "one", stopping=str(marker))
    run = begin(cast, document)
    cluster.until(lambda: shop.requests)

    ask_to_stop(cluster, "one", marker)
    gate.set()
    cluster.start("two")
    row = cluster.until_ended(run)

    assert (row["status"], row["outputs"]["body"]) == ("succeeded", "second")
    calls = [step for step in cluster.steps(run) if step[0] in {"first", "second"}]
    assert calls == [("first", "succeeded", 1), ("second", "succeeded", 2)]
    assert len(shop.requests) == 2
    cluster.check(run)


def test_model_call_has_the_same_key_in_each_attempt_and_never_asks(
    cluster: Cluster, cast: Cast, workflow: Any, ledger: FakeOpenAI, held: Answer
) -> None:
    answer_from_now_on(ledger, held)
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=workflow("llm"))
    cluster.until(lambda: asked(ledger, "llm1"))

    cluster.kill("one")
    cluster.expire_leases()
    answer_from_now_on(ledger, "done")
    cluster.start("two")
    row = cluster.until_ended(run)

    assert row["status"] == "succeeded"
    sent = [request.headers["idempotency-key"] for request in ledger.requests if request.body]
    assert sent == [f"{run.pk}:llm1:"] * 2
    with tenant([run.team_id]):
        repeated = StepIntent.objects.unscoped().filter(run=run, is_repeated=True)
        assert list(repeated.values_list("node_key", "attempt")) == [("llm1", 2)]
    cluster.check(run)
