"""The product as a program uses it: documents and runs through the API, a worker that drives them, memory read back."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from tests.support.cast import Cast, KeyClient, make_key
from workflows.execution.worker import Worker


API = "/api/v1"
Json = Any


@dataclass(frozen=True)
class Product:
    """A team's product. Every call is a request with the team's API key; ``run`` also lets a worker drive the run."""

    client: KeyClient
    owner: Client  # the browser of the team's owner, for what keys can't do
    worker: Worker

    def call(
        self,
        method: str,
        path: str,
        body: Json = None,
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> Json:
        options: dict[str, Json] = {"headers": headers}
        if body is not None:
            options |= {"data": body, "content_type": "application/json"}
        answer = getattr(self.client, method)(API + path, **options)
        assert answer.status_code == status, answer.content
        return answer.json() if answer.content else None

    def add_workflow(self, *nodes: Json, text: str = "string") -> str:
        """Create a workflow of these nodes in a row, behind a start node with the input ``text`` of this type."""
        body = {"document": build_document(*nodes, text=text), "name": "Seed"}
        return str(self.call("post", "/workflows", body, status=201)["workflow"]["id"])

    def run(self, workflow: str, text: Json = "", **body: Json) -> Json:
        """Start a run of the draft for the person Mia, drive it to its end and return what the API tells of it."""
        asked = {"inputs": {"text": text}, "user": "mia", "version": "draft", **body}
        run = self.call("post", f"/workflows/{workflow}/runs", asked, status=202)["id"]
        self.worker.execute_run(UUID(run))
        return self.call("get", f"/runs/{run}")


def make_node(node_id: str, kind: str, /, **data: Json) -> Json:
    return {"id": node_id, "data": {"type": kind, "title": node_id, **data}}


def make_end(**outputs: str) -> Json:
    """An end node; each output is given as ``node.field``."""
    selected = [
        {"variable": name, "value_selector": source.split(".")} for name, source in outputs.items()
    ]
    return make_node("end", "end", outputs=selected)


def build_document(*nodes: Json, text: str) -> Json:
    start = make_node("start", "start", variables=[{"variable": "text", "type": text}])
    chain = [start, *nodes]
    edges = [
        {"id": f"e{number}", "source": before["id"], "target": after["id"]}
        for number, (before, after) in enumerate(pairwise(chain))
    ]
    return {"version": "0.1.0", "nodes": chain, "edges": edges}


@pytest.fixture
def product(
    cast: Cast, settings: Any, valkey_url: str, transactional_db: None
) -> Iterator[Product]:
    settings.REDIS_URL = valkey_url
    worker = Worker(capacity=1)
    yield Product(KeyClient(*make_key(cast, cast.alice)), cast.alice.client, worker)
    worker.stop(0)
