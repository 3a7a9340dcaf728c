"""The id that a caller's tracing gives: where it is read, what is left out, and where it is found again."""

from typing import Any

import pytest
from django.test import RequestFactory

from tests.workflows.dify_api.apps import AsyncProgram, in_tenant
from workflows.dify_api.trace_ids import read_trace_id
from workflows.execution.worker import Worker
from workflows.models import Run


TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"


@pytest.mark.parametrize(
    ("headers", "query", "of_body", "expected"),
    [
        (
            {"X-Trace-Id": "of_header-1", "traceparent": PARENT},
            "of-query",
            "of-body",
            "of_header-1",
        ),
        ({"traceparent": PARENT}, "of-query", "of-body", "of-query"),
        ({"traceparent": PARENT}, "", "of-body", "of-body"),
        ({"traceparent": PARENT}, "", None, TRACE),
        ({}, "", "a" * 128, "a" * 128),
        ({}, "", "a" * 129, ""),
        ({}, "", {"not": "a text"}, ""),
        ({"X-Trace-Id": "two words", "traceparent": PARENT}, "", None, ""),
        ({"traceparent": f"00-{'0' * 32}-00f067aa0ba902b7-01"}, "", None, ""),
        ({"traceparent": "00-short-00f067aa0ba902b7-01"}, "", None, ""),
        ({}, "", None, ""),
    ],
)
def test_first_id_that_is_there_counts_if_it_is_valid(
    headers: dict[str, str], query: str, of_body: Any, expected: str
) -> None:
    request = RequestFactory().post(f"/v1/workflows/run?trace_id={query}", headers=headers)

    assert read_trace_id(request, of_body) == expected


@pytest.mark.django_db(transaction=True)
async def test_run_is_found_by_the_trace_id_of_its_call(
    runner: AsyncProgram, working: Worker
) -> None:
    body = {"inputs": {"name": "Ana"}, "user": "ana", "trace_id": "of-the-body"}

    of_body = (await runner.send("/workflows/run", body)).json()["workflow_run_id"]
    headers = {"X-Trace-Id": "of-the-header"}
    of_header = (await runner.send("/workflows/run", body, **headers)).json()["workflow_run_id"]

    for run_id, trace_id in ((of_body, "of-the-body"), (of_header, "of-the-header")):
        log = (await runner.get("/v1/workflows/logs", {"keyword": trace_id})).json()
        assert [each["id"] for each in log["data"]] == [run_id]
        assert (await runner.get(f"/api/v1/runs/{run_id}")).json()["trace_id"] == trace_id


@pytest.mark.django_db(transaction=True)
async def test_every_route_that_starts_a_run_stores_the_id(
    chatter: AsyncProgram, runner: AsyncProgram, working: Worker
) -> None:
    text = {"inputs": {"name": "Ana"}, "user": "ana"}
    version = (await runner.send("/workflows/run", text)).json()["data"]["workflow_id"]
    calls = [
        (chatter, "/chat-messages", {"inputs": {}, "query": "Hi", "user": "ana"}),
        (runner, "/completion-messages", text),
        (runner, f"/workflows/{version}/run", text),
    ]

    for program, path, body in calls:
        answer = await program.send(path, body, traceparent=PARENT)
        assert answer.status_code == 200, answer.content

    stored = await in_tenant(lambda: Run.objects.unscoped().filter(trace_id=TRACE).count())
    assert stored == len(calls)
