"""A step sends nothing outside in which another step wrote a secret of the team; what its author configured is sent."""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest

from tests.engine.agent.scripted import ScriptedModel, Tools
from tests.support.documents import document, end, llm, node, start, template
from tests.support.engine import ports
from workflows.engine.language.document import Document, Json, NodeSpec
from workflows.engine.language.plan import compile_plan
from workflows.engine.nodes import build_kinds
from workflows.engine.ports import HttpRequest, HttpResponse
from workflows.engine.runtime.local_ports import ListJournal
from workflows.engine.runtime.loop import execute_plan
from workflows.engine.runtime.run_request import RunResult, RunStart


OF_TEAM, OWN = "sk-0123456789abcdef", "of-the-workflow-42"
TOOL = {"provider_type": "plugin", "provider_id": "plugin", "tool_name": "post"}


class KnownSecrets:
    async def is_in(self, value: Json) -> bool:
        return OF_TEAM in str(value) or OWN in str(value)

    async def is_team_secret_in(self, value: Json) -> bool:
        return OF_TEAM in str(value)


@dataclass
class Http:
    requests: list[HttpRequest] = field(default_factory=list)

    async def send(self, request: HttpRequest) -> HttpResponse:
        self.requests.append(request)
        return HttpResponse(200, {}, b"ok")


def build(sender: NodeSpec, *writers: NodeSpec) -> Document:
    names = ["start", *(writer.id for writer in writers), "send", "end"]
    edges = [f"{first} -> {second}" for first, second in pairwise(names)]
    return document([start("q"), *writers, sender, end()], edges)


async def run(made: Document, model: str = "", **start_with: Any) -> tuple[RunResult, int]:
    """Return the result, and how many requests and calls were sent."""
    http, tools = Http(), Tools(post=lambda **arguments: "ok")
    tools.schemas["post"] = {"type": "object", "properties": {"text": {"type": "string"}}}
    world = ports(http=http, tools=tools, model=ScriptedModel(model), secrets=KnownSecrets())
    plan = compile_plan(made, build_kinds())
    run_start = RunStart("r1", **{"inputs": {"q": ""}, **start_with})
    result = await execute_plan(plan, run_start, world, ListJournal())
    return result, len(http.requests) + len(tools.ledger)


def http(**data: Any) -> NodeSpec:
    return node("send", "http-request", **{"method": "post", "url": "http://h.test/x", **data})


def tool(text: str) -> NodeSpec:
    return node("send", "tool", **TOOL, tool_parameters={"text": {"type": "mixed", "value": text}})


WRITTEN = "{{#writes.text#}}"
SENDERS = {
    "an address": http(url=f"http://h.test/{WRITTEN}"),
    "a header": http(headers=f"X-Note: {WRITTEN}"),
    "a body": http(body={"type": "raw-text", "data": WRITTEN}),
    "an argument of a tool": tool(WRITTEN),
}


@pytest.mark.parametrize("name", SENDERS)
async def test_what_a_model_wrote_with_a_secret_of_the_team_is_not_sent(name: str) -> None:
    result, count = await run(build(SENDERS[name], llm("writes")), f"It is {OF_TEAM} .")

    assert (result.status, count) == ("failed", 0)
    assert "A stored secret is in what this node would send" in str(result.error)
    assert OF_TEAM not in str(result.error)


@pytest.mark.parametrize("name", SENDERS)
async def test_other_text_of_a_model_is_sent(name: str) -> None:
    result, count = await run(build(SENDERS[name], llm("writes")), "tea")

    assert (result.status, count) == ("succeeded", 1), result.error


@pytest.mark.parametrize(
    "sender",
    [
        http(headers="Authorization: Bearer {{#env.KEY#}}"),
        http(headers=f"Authorization: Bearer {OF_TEAM}"),
        http(headers="Authorization: {{#t.output#}}"),
        tool("{{#env.KEY#}}"),
    ],
)
async def test_secrets_that_the_author_configured_are_sent(sender: NodeSpec) -> None:
    made = build(sender, template("t", f"Bearer {OWN}"))

    result, count = await run(made, environment={"KEY": OF_TEAM})

    assert (result.status, count) == ("succeeded", 1), result.error
