"""A run that calls this installation begins another one, which is counted with the start above the caller."""

from functools import partial
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from accounts.tenancy import tenant
from config import net
from config.net.own_calls import HEADER
from tests.config.test_net_client import Site, page, serve
from tests.factories.workflows import make_journal, make_run, make_version, make_workflow
from tests.fakes.serving import serving
from tests.support.cast import Cast
from tests.workflows.execution.ports.test_children import begin, claim_of, make_published, take
from workflows.engine.errors import LimitReached, NestingNotAllowed
from workflows.engine.sub_workflows.children import MAX_DEPTH
from workflows.engine.sub_workflows.spending import Spending, leave_for_call
from workflows.engine.sub_workflows.spending_limits import SpendingLimits
from workflows.errors import CallNotAllowed
from workflows.execution.called_runs import CallMark, build_call_mark, build_delivery_mark
from workflows.execution.evaluation.running import run_next_case
from workflows.execution.ports.runs_below import build_reservation
from workflows.execution.worker import Worker
from workflows.models import EvaluationResult, Run, Workflow
from workflows.services.data_sets.cases import add_cases, make_case
from workflows.services.data_sets.data_sets import save_data_set
from workflows.services.data_sets.evaluations import EvaluationRequest, start_evaluation
from workflows.services.runs.runs import start_run


# The mark of a call is built while another thread looks for the start.
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def middle(cast: Cast) -> Workflow:
    make_published(cast.alice, "Inner")
    return make_published(cast.alice, "Middle")


@pytest.fixture
def outer(cast: Cast, middle: Workflow) -> Run:
    return make_run(cast.alice, make_published(cast.alice, "Outer"), status="running")


def build_mark(run: Run, spending: Spending | None = None) -> str:
    build = async_to_sync(build_call_mark)(claim_of(run), spending or Spending())
    return build()


def call(cast: Cast, workflow: Workflow, mark: str) -> Run:
    """Start a run as a request with the mark does."""
    with net.receive_mark(mark):
        return start_run(cast.alice.principal, workflow=workflow, inputs={"text": "hello"})


def test_run_that_a_call_starts_knows_its_start_and_depth(
    cast: Cast, outer: Run, middle: Workflow
) -> None:
    child = begin(outer, "a", "middle")
    first = call(cast, middle, build_mark(child))
    below = begin(first, "a", "inner")
    second = call(cast, middle, build_mark(below))
    with tenant([outer.team_id]):
        delivery = build_delivery_mark(second)
    delivered = call(cast, middle, delivery)
    by_hand = call(cast, middle, "")

    starts = [
        (each.called_by_start, each.calls_above) for each in (first, below, second, delivered)
    ]
    assert starts == [(outer.pk, 1), (outer.pk, 1), (outer.pk, 2), (outer.pk, 3)]
    assert (by_hand.called_by_start, by_hand.calls_above) == (None, 0)


CALLS = """
version: 0.6.0
kind: app
app: {name: Calls, mode: workflow}
workflow:
  graph:
    nodes:
      - {id: start, type: custom, data: {type: start, title: Start, variables: []}}
      - {id: h, type: custom, data: {type: http-request, title: Call, method: post, url: "URL",
          authorization: {type: no-auth}, headers: "", params: "", body: {type: none, data: []}}}
      - {id: end, type: custom, data: {type: end, title: End, outputs: []}}
    edges:
      - {id: a, source: start, target: h}
      - {id: b, source: h, target: end}
"""


def test_request_of_a_run_in_a_worker_has_its_mark(
    cast: Cast, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.REDIS_URL = ""
    allowed = net.parse_allowed(["127.0.0.1:*"])
    monkeypatch.setattr("config.net.clients._load_allow_list", lambda: allowed)
    site, worker = Site(pages={"/": page(b"ok")}), Worker(capacity=1)
    with serving(serve(site)):
        workflow = make_workflow(cast.alice, "Calls", CALLS.replace("URL", site.url("/")))
        make_version(cast.alice, workflow)
        run = start_run(cast.alice.principal, workflow=workflow)
        worker.start()
        try:
            worker.execute_run(run.pk)
        finally:
            worker.stop(0)

    ((_method, _path, headers, _body),) = site.seen
    assert CallMark.read(headers[HEADER.lower()]) == CallMark(str(run.pk))


def test_run_starts_no_test_cases_by_calling_this_installation(
    cast: Cast, outer: Run, middle: Workflow
) -> None:
    data_set = save_data_set(cast.alice.principal, team_id=outer.team_id, name="Greetings")
    add_cases(cast.alice.principal, data_set, [make_case(inputs={"text": "hi"})])
    start = partial(start_evaluation, cast.alice.principal, data_set, middle, EvaluationRequest())

    with net.receive_mark(build_mark(outer)), pytest.raises(CallNotAllowed, match="test cases"):
        start()

    assert start().summary["0"]["cases"] == 1


def test_request_of_a_test_case_is_marked_with_the_case(
    cast: Cast, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.REDIS_URL = ""
    allowed = net.parse_allowed(["127.0.0.1:*"])
    monkeypatch.setattr("config.net.clients._load_allow_list", lambda: allowed)
    data_set = save_data_set(cast.alice.principal, team_id=cast.team_a.pk, name="Calls")
    add_cases(cast.alice.principal, data_set, [make_case(inputs={"text": "hi"})])
    site = Site(pages={"/": page(b"ok")})
    with serving(serve(site)):
        workflow = make_workflow(cast.alice, "Calls", CALLS.replace("URL", site.url("/")))
        evaluation = start_evaluation(cast.alice.principal, data_set, workflow, EvaluationRequest())
        assert run_next_case(cast.team_a.pk, evaluation.pk)

    ((_method, _path, headers, _body),) = site.seen
    with tenant([cast.team_a.pk]):
        result = EvaluationResult.objects.unscoped().get(evaluation=evaluation)
    assert CallMark.read(headers[HEADER.lower()]) == CallMark(str(result.pk))


def test_mark_of_nobody_here_is_no_mark(cast: Cast, outer: Run, middle: Workflow) -> None:
    mark = build_mark(outer)

    for forged in ("x", mark[:-1], "eyJzdGFydCI6ICJhIn0:" + mark.partition(":")[2]):
        assert call(cast, middle, forged).called_by_start is None


def test_calls_in_a_row_end_at_the_depth_of_sub_workflows(
    cast: Cast, outer: Run, middle: Workflow
) -> None:
    run = outer
    for _ in range(MAX_DEPTH):
        run = call(cast, middle, build_mark(run))

    with pytest.raises(CallNotAllowed, match=f"at most {MAX_DEPTH} deep"):
        call(cast, middle, build_mark(run))


def test_start_begins_no_more_runs_than_allowed_by_calls_and_sub_workflows_together(
    cast: Cast, outer: Run, middle: Workflow, settings: Any
) -> None:
    settings.RUN_MAX_RUNS_BELOW = 4
    child = begin(outer, "a", "middle")
    called = call(cast, middle, build_mark(child))
    begin(called, "a", "inner")
    call(cast, middle, build_mark(called))

    for run in (outer, child, called):
        with pytest.raises(CallNotAllowed, match=r"at most 4 runs .* RUN_MAX_RUNS_BELOW"):
            call(cast, middle, build_mark(run))
        with pytest.raises(NestingNotAllowed, match=r"at most 4 runs .* RUN_MAX_RUNS_BELOW"):
            begin(run, "one too many", "inner")
    with tenant([outer.team_id]):
        assert Run.objects.unscoped().exclude(pk=outer.pk).count() == 4
    assert call(cast, middle, "").called_by_start is None  # somebody else's start


def test_steps_of_called_runs_are_counted_with_their_start(
    cast: Cast, outer: Run, middle: Workflow, settings: Any
) -> None:
    called = call(cast, middle, build_mark(outer))
    make_journal(called)  # a step and a round
    claim = take(called)
    reserve = build_reservation(claim, claim)
    assert reserve is not None

    settings.RUN_MAX_STEPS_BELOW = 2
    with pytest.raises(LimitReached, match="at most 2 steps"):
        async_to_sync(reserve)(1)
    with pytest.raises(CallNotAllowed, match="at most 2 steps"):
        call(cast, middle, build_mark(called))


@pytest.mark.parametrize("limits", [SpendingLimits(max_cost=0.5), SpendingLimits(max_tokens=100)])
def test_run_whose_spending_is_limited_starts_nothing_by_a_call(
    cast: Cast, outer: Run, middle: Workflow, limits: SpendingLimits
) -> None:
    marks = [build_mark(outer, Spending(limits))]
    with leave_for_call(limits):  # as an agent does around a call of a tool
        marks.append(build_mark(outer))

    for mark in marks:
        with pytest.raises(CallNotAllowed, match="limit of tokens or money"):
            call(cast, middle, mark)
    assert call(cast, middle, build_mark(outer)).called_by_start == outer.pk


def test_call_of_another_teams_run_is_counted_in_each_team(
    cast: Cast, outer: Run, settings: Any
) -> None:
    settings.RUN_MAX_RUNS_BELOW = 1
    theirs = make_published(cast.carol, "Theirs")
    mark = build_mark(outer)

    def start() -> Run:
        with net.receive_mark(mark):
            return start_run(cast.carol.principal, workflow=theirs, inputs={"text": "hello"})

    assert start().called_by_start == outer.pk
    with pytest.raises(CallNotAllowed, match="at most 1 runs"):
        start()


def test_signed_mark_has_no_more_than_it_needs() -> None:
    mark = CallMark("01900000-0000-7000-8000-000000000001", 2, is_limited=True)

    assert CallMark.read(mark.sign()) == mark
