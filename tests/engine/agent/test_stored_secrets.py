"""What a model writes is refused if a stored secret is in it."""

from collections.abc import Mapping
from typing import Any

import pytest

from memory.providers.in_memory import InMemoryProvider
from tests.engine.agent.scripted import ScriptedModel, Tools, agent_document, call, tool_entries
from tests.support.documents import document, end, node, start
from tests.support.engine import ports
from workflows.engine.language.document import Document, Json
from workflows.engine.language.plan import compile_plan
from workflows.engine.nodes import build_kinds
from workflows.engine.runtime.events import MemoryKeptOut
from workflows.engine.runtime.local_ports import ListJournal
from workflows.engine.runtime.loop import execute_plan
from workflows.engine.runtime.run_request import RunResult, RunStart


SECRET = "sk-0123456789abcdef"
REFUSED = "Error: A stored secret is in it, which may not be written anywhere."
SYSTEM = {"user_id": "ana", "conversation_id": "c1"}


class KnownSecrets:
    async def is_in(self, value: Json) -> bool:
        return SECRET in str(value)

    async def is_team_secret_in(self, value: Json) -> bool:
        return await self.is_in(value)


async def run(
    made: Document, q: str = "?", **given: Any
) -> tuple[RunResult, ListJournal, InMemoryProvider]:
    memory, journal = InMemoryProvider(), ListJournal()
    world = ports(memory=memory.port(), secrets=KnownSecrets(), **given)
    plan = compile_plan(made, build_kinds())
    started = RunStart("r1", inputs={"q": q, "text": ""}, system=SYSTEM)
    return await execute_plan(plan, started, world, journal), journal, memory


CALLS: dict[str, Mapping[str, Any]] = {
    "remember": {"key": "k", "value": f"The key is {SECRET}"},
    "fetch": {"url": f"http://x.test/?key={SECRET}"},
}


@pytest.mark.parametrize("name", CALLS)
async def test_call_of_an_agent_with_a_stored_secret_is_not_made(name: str) -> None:
    tools = Tools(fetch=lambda url: "read")
    tools.schemas["fetch"] = {"type": "object", "properties": {"url": {"type": "string"}}}
    model = ScriptedModel(("", [call(name, **CALLS[name])]), "Done")
    made = agent_document(tools=tool_entries("fetch"), memory_tools={"remember": ["user"]})

    _result, _journal, memory = await run(made, model=model, tools=tools)

    assert model.requests[1].messages[-1].text == REFUSED
    assert (tools.ledger, memory.living("user:ana")) == ([], {})


@pytest.mark.parametrize(("value", "stored"), [(SECRET, False), ("tea", True)])
async def test_node_stores_no_stored_secret(value: str, stored: bool) -> None:
    keep = node("s", "memory-store", scope="user", key="k", value_selector=["start", "q"])
    made = document([start("q", "text"), keep, end(o=["s", "stored"])], ["start -> s", "s -> end"])

    result, journal, memory = await run(made, value)

    assert result.outputs == {"o": stored}
    assert bool(memory.living("user:ana")) is stored
    events = [event for event in journal.events if isinstance(event, MemoryKeptOut)]
    assert [list(event.reasons) for event in events] == ([] if stored else [["secret"]])
