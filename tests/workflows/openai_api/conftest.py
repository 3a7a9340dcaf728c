"""A program that calls the OpenAI API with a key, and a worker that executes its runs."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest
from django.test import AsyncClient

from tests.factories.workflows import make_version
from tests.support.cast import Cast, make_key
from tests.support.working import hurry
from workflows.execution.events.hub import get_hub
from workflows.execution.worker import Worker
from workflows.models import Workflow
from workflows.services.samples.samples import copy_sample
from workflows.sse import close_connections


T = TypeVar("T")

ROOT = "/openai/v1"


@dataclass
class Program:
    """A client with a key. ``complete`` sends a request and returns the response."""

    secret: str
    key: Any
    client: AsyncClient

    async def complete(self, model: str, text: Any = "Hello?", **body: Any) -> Any:
        headers = body.pop("headers", {})
        messages = body.pop("messages", [{"role": "user", "content": text}])
        return await self.post({"model": model, "messages": messages, **body}, headers)

    async def post(self, body: Any, headers: dict[str, str] | None = None, path: str = "") -> Any:
        return await self.client.post(
            path or f"{ROOT}/chat/completions",
            data=body if isinstance(body, str) else json.dumps(body),
            content_type="application/json",
            headers={"Authorization": f"Bearer {self.secret}", **(headers or {})},
        )

    async def get(self, path: str) -> Any:
        return await self.client.get(path, headers={"Authorization": f"Bearer {self.secret}"})


@pytest.fixture(autouse=True)
def no_bus(settings: Any) -> None:
    """Without one, nothing of other tests is heard: the worker is woken directly, and a reader reads rows."""
    settings.REDIS_URL = ""


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Worker]:
    made = Worker(capacity=4)
    made.start()
    hurry(made, monkeypatch)
    yield made
    made.stop(0)


@pytest.fixture
async def program(cast: Cast, worker: Worker) -> AsyncIterator[Program]:
    key, secret = await in_thread(make_key, cast, cast.alice)
    yield Program(secret, key, AsyncClient())
    await get_hub().close()


@pytest.fixture
def chatbot(cast: Cast) -> Workflow:
    return publish_sample(cast, "chatbot")


def publish_sample(cast: Cast, slug: str) -> Workflow:
    workflow = copy_sample(cast.alice.principal, team_id=cast.team_a.pk, slug=slug)
    make_version(cast.alice, workflow)
    return workflow


async def in_thread(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function that uses the database in a thread, whose connection is given back."""

    def call() -> T:
        with close_connections():
            return function(*arguments)

    return await asyncio.to_thread(call)


async def read_chunks(answer: Any) -> list[Any]:
    """The frames of a stream: what they contain as JSON, and as text where they have none."""
    assert answer["Content-Type"] == "text/event-stream"
    text = b"".join([part async for part in answer.streaming_content]).decode()
    frames = [frame.removeprefix("data: ") for frame in text.strip().split("\n\n")]
    return [json.loads(frame) if frame.startswith("{") else frame for frame in frames]


def join(chunks: list[Any]) -> str:
    """The content of all chunks."""
    choices = [choice for chunk in chunks if isinstance(chunk, dict) for choice in chunk["choices"]]
    return "".join(choice["delta"].get("content", "") for choice in choices)
