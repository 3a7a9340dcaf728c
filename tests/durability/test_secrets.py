"""Secrets of a run: sent where they belong, and found in no table, no log and no answer of ours."""

import base64
from collections.abc import Iterator
from itertools import pairwise
from typing import Any
from urllib.parse import quote

from tests.durability.conftest import Cluster, answer_from_now_on
from tests.fakes.openai_server import Answer, FakeOpenAI, Request
from tests.support.cast import Cast
from workflows.engine.nodes.memory.memory_access import SECRET_REFUSED
from workflows.models import Workflow
from workflows.services.catalog import importing
from workflows.services.credentials import create_provider
from workflows.services.runs.runs import Run, start_run


VARIABLE = "env-canary-77aa+/21c4b8d3"
API_KEY = "sk-canary-5f1e8b7c2d9a4e60"
FORMS = [
    form
    for secret in (VARIABLE, API_KEY)
    for form in (
        secret,
        quote(secret, safe=""),
        secret.encode().hex(),
        base64.b64encode(secret.encode()).decode()[:-4],
        base64.b64encode(f"user:{secret}".encode()).decode()[8:-4],
    )
]

CODE = """
import base64, binascii
def main(key):
    print(key)
    raw = key.encode()
    basic = base64.b64encode(b'user:' + raw).decode()
    return {'plain': key, 'basic': basic, 'hex': binascii.hexlify(raw).decode(), 'list': [{key: key}]}
"""
KEEPING = ("keep", "keep_encoded", "keep_answer")
FAILING = "def main(key):\n    raise ValueError('no use for ' + key)"


def code(node: str, source: str, **data: Any) -> dict[str, Any]:
    return {"id": node, "data": {
        "type": "code", "title": node, "code_language": "python3", "code": source,
        "variables": [{"variable": "key", "value_selector": ["env", "KEY"]}],
        "outputs": {"plain": {"type": "string"}, "basic": {"type": "string"},
                    "hex": {"type": "string"}, "list": {"type": "array[object]"}},
        **data,
    }}  # fmt: skip


def remembering(node: str, value: list[str]) -> dict[str, Any]:
    return {"id": node, "data": {
        "type": "memory-store", "title": node, "scope": "user", "key": node, "value_selector": value,
    }}  # fmt: skip


NODES: list[dict[str, Any]] = [
    {"id": "start", "data": {"type": "start", "title": "Start", "variables": []}},
    code("encode", CODE),
    {"id": "render", "data": {
        "type": "template-transform", "title": "Render", "template": "{{ key|urlencode }} {{ key }}",
        "variables": [{"variable": "key", "value_selector": ["env", "KEY"]}],
    }},
    {"id": "ask", "data": {
        "type": "llm", "title": "Ask",
        "model": {"provider": "ledger", "name": "small", "mode": "chat"},
        "prompt_template": [{"role": "user", "text": "Use {{#env.KEY#}} and {{#encode.basic#}}"}],
    }},
    remembering("keep", ["env", "KEY"]),
    remembering("keep_encoded", ["encode", "basic"]),
    remembering("keep_answer", ["ask", "text"]),
    code("fail", FAILING),
    {"id": "end", "data": {"type": "end", "title": "End", "outputs": [
        {"variable": "answer", "value_selector": ["ask", "text"]},
        {"variable": "encoded", "value_selector": ["encode", "list"]},
    ]}},
]  # fmt: skip


def document(*left_out: str) -> dict[str, Any]:
    nodes = [node for node in NODES if node["id"] not in left_out]
    pairs = pairwise(nodes)
    return {
        "version": "0.1.0",
        "nodes": nodes,
        "edges": [
            {"id": f"e{n}", "source": one["id"], "target": other["id"]}
            for n, (one, other) in enumerate(pairs)
        ],
        "environment_variables": [{"name": "KEY", "value_type": "secret", "value": VARIABLE}],
    }


def made(cast: Cast, *left_out: str) -> Workflow:
    return importing.import_document(
        cast.alice.principal, team_id=cast.team_a.pk, source=document(*left_out), name="secretive"
    ).workflow


def parrot(request: Request) -> Answer:
    """A model that repeats everything it was sent, headers too, in one word after the other."""
    said = f"{request.headers['authorization']} {request.last_message}"
    return Answer(said, reasoning=API_KEY, request_id=said)


def leaks(text: str) -> list[str]:
    return [form for form in FORMS if form in text]


def rows(cluster: Cluster) -> Iterator[tuple[str, str]]:
    tables = cluster.db.execute(
        "select format('%I', tablename) from pg_tables where schemaname = current_schema()"
    ).fetchall()
    for (table,) in tables:
        for (row,) in cluster.db.execute(f"select t::text from {table} t").fetchall():
            yield table, row


def answers(cast: Cast, workflow: Workflow, run: Run) -> Iterator[tuple[str, str]]:
    """What we answer about a run: its pages, the API, its events, the file of the workflow, memory."""
    client = cast.alice.client
    for address in (
        f"/runs/{run.pk}/",
        f"/runs/{run.pk}/memory/",
        *(f"/runs/{run.pk}/steps/{node['id']}/value/" for node in NODES),
        f"/api/v1/runs/{run.pk}",
        f"/api/v1/runs/{run.pk}/case",
        f"/api/v1/workflows/{workflow.pk}/export",
        f"/workflows/{workflow.pk}/",
        "/memory/",
        "/api/v1/memory/entries",
    ):
        answer = client.get(address)
        body = b"".join(answer) if answer.streaming else answer.content
        yield f"{address} {answer.status_code}", body.decode()


def reasons(cluster: Cluster, run: Run) -> dict[str, str]:
    """Why the nodes that remember have stored nothing."""
    rows = cluster.db.execute(
        "select node_key, outputs->>'reason' from workflows_step where run_id = %s", [run.pk]
    )
    return {node: reason for node, reason in rows if node in KEEPING}


def test_secret_is_in_no_table_no_log_and_no_answer(
    cluster: Cluster, cast: Cast, ledger: FakeOpenAI
) -> None:
    create_provider(
        cast.alice.principal,
        team_id=cast.team_a.pk, name="ledger", base_url=ledger.base_url, secret=API_KEY,
    )  # fmt: skip
    answer_from_now_on(ledger, parrot)
    cluster.environment["LOG_LEVEL"] = "DEBUG"
    cluster.start("one")
    good, bad = made(cast, "fail"), made(cast)

    runs = [
        (workflow, start_run(cast.alice.principal, workflow=workflow, inputs={}))
        for workflow in (good, bad)
    ]
    ends = [cluster.until_ended(run) for _workflow, run in runs]

    # They were used: the model was sent both, and the log has the answer that held them.
    assert [end["status"] for end in ends] == ["succeeded", "failed"], [
        end["error"] for end in ends
    ]
    assert "no use for [secret KEY" in ends[1]["error"]
    basic = base64.b64encode(f"user:{VARIABLE}".encode()).decode()
    assert [request.last_message for request in ledger.requests if request.body] == [
        f"Use {VARIABLE} and {basic}"
    ] * 2
    assert {request.headers["authorization"] for request in ledger.requests} == {
        f"Bearer {API_KEY}"
    }
    assert "request_id: Bearer [redacted] Use [redacted]" in cluster.story()
    assert "[redacted]" in ends[0]["outputs"]["answer"]
    assert {table for table, row in rows(cluster) if "[secret KEY" in row} >= {
        "workflows_run",
        "workflows_step",
        "workflows_runcommit",
    }
    # Nothing of them is remembered, not even redacted, and each step says why.
    assert "memory_entry" not in {table for table, row in rows(cluster) if "[redacted]" in row}
    for _workflow, run in runs:
        assert reasons(cluster, run) == {
            node: f"value of the node {node}: {SECRET_REFUSED}" for node in KEEPING
        }

    assert [(table, leaks(row)) for table, row in rows(cluster) if leaks(row)] == []
    assert [path.name for path in cluster.logs.iterdir() if leaks(path.read_text())] == []
    told = [answer for workflow, run in runs for answer in answers(cast, workflow, run)]
    assert [address for address, body in told if leaks(body)] == []
    assert len([body for _address, body in told if "[secret KEY" in body]) > len(NODES)
