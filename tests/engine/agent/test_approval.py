"""Calls that a person has to allow: the pause, the answer, the refusal, the end of the wait."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from memory.core.records import StoreParams
from memory.providers.in_memory import InMemoryProvider
from tests.engine.agent.scripted import (
    ScriptedModel,
    Tools,
    agent_document,
    answer_wait,
    build_runner,
    call,
    collect,
    tool_entries,
)
from tests.support.documents import document, end, node, start
from workflows.engine.errors import ToolFailed
from workflows.engine.kind_examples import build_example_data
from workflows.engine.language.document import Document, NodeSpec
from workflows.engine.nodes.agent.agent import Agent
from workflows.engine.nodes.agent.tool import ToolNode
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.runtime.step_records import RunStatus, StepKey
from workflows.engine.runtime.waits import Answer
from workflows.engine.sub_workflows.tools import LocalWorkflowTools
from workflows.engine.tool_calls import Tool, ToolReference, ToolResult


def mail() -> Tools:
    tools = Tools(look=lambda: "found", send=lambda to: f"sent to {to}")
    tools.schemas["send"] = {"type": "object", "properties": {"to": {"type": "string"}}}
    tools.needs_approval = {"send"}
    return tools


def asking_model() -> ScriptedModel:
    return ScriptedModel(("I write", [call("look"), call("send", to="ana")]), "Done")


async def test_call_that_needs_approval_pauses_the_run_and_shows_the_call() -> None:
    model, tools = asking_model(), mail()
    runner = build_runner(model, tools)

    handle = runner.start(inputs={"q": "?"})
    changes = await collect(handle, "node_state_change")
    result = await handle.result()

    assert (changes[-1].status, changes[-1].waits_for) == ("paused", "approval")
    [wait] = result.open_waits
    form: Any = wait.wait.form
    assert (result.status, wait.key) == (RunStatus.PAUSED, StepKey("agent", (), "1.tool.2"))
    assert (form["type"], form["tool"], form["arguments"]) == ("approval", "send", {"to": "ana"})
    assert form["content"] == '**send**\n\n    {"to": "ana"}'
    assert [action["id"] for action in form["actions"]] == ["allow", "refuse"]
    assert [(field["name"], field["required"]) for field in form["inputs"]] == [("comment", False)]
    assert [name for name, _arguments, _key in tools.ledger] == ["look"]


async def test_person_is_told_why_a_tool_asks_if_its_author_did_not_say_so() -> None:
    tools = mail()
    tools.cause = "connection_changed"

    result = await build_runner(asking_model(), tools).run(inputs={"q": "?"})

    form: Any = result.open_waits[0].wait.form
    assert form["cause"] == "connection_changed"


@pytest.mark.parametrize(("source", "connection"), [("mcp", "bank"), ("workflow", None)])
async def test_approval_names_the_connection(source: str, connection: str | None) -> None:
    entry = {"source": source, "name": "send", "provider": "bank"}
    runner = build_runner(
        ScriptedModel(("", [call("send", to="ana")]), "Done"), mail(), tools=[entry]
    )

    result = await runner.start(inputs={"q": "?"}).result()

    assert (result.open_waits[0].wait.form or {}).get("connection") == connection


async def test_approval_asks_those_whom_the_agent_names() -> None:
    rows = [{"type": "role", "value": "admin"}, {"type": "email", "value": "boss@example.com"}]
    runner = build_runner(asking_model(), mail(), approvers=[*rows, {"type": "member"}])

    result = await runner.start(inputs={"q": "?"}).result()

    form: Any = result.open_waits[0].wait.form
    assert form["answerers"] == ["role:admin", "email:boss@example.com"]


@pytest.mark.parametrize("kind", [Agent(), ToolNode()], ids=["agent", "tool"])
def test_row_of_approvers_that_names_nobody_is_a_problem(kind: Agent | ToolNode) -> None:
    data = {**build_example_data(kind), "approvers": [{"type": "runner"}, {"type": "group"}]}

    problems = kind.check(NodeSpec("n", kind.name, data))

    assert [(each.code, each.field) for each in problems if "answerer" in each.code] == [
        ("answerer.missing", "approvers.1.value")
    ]


async def test_allowed_call_is_made_and_nothing_before_it_is_repeated() -> None:
    model, tools = asking_model(), mail()
    runner = build_runner(model, tools)
    handle = runner.start(inputs={"q": "?"})

    _handle, result = await answer_wait(runner, handle, "allow")

    assert result.outputs["text"] == "Done "
    assert [name for name, _arguments, _key in tools.ledger] == ["look", "send"]
    assert len(model.requests) == 2
    assert model.requests[1].messages[-1].text == "sent to ana"


async def test_refusal_is_told_to_the_model_with_its_reason() -> None:
    model, tools = asking_model(), mail()
    runner = build_runner(model, tools)
    handle = runner.start(inputs={"q": "?"})

    _handle, result = await answer_wait(runner, handle, "refuse", comment="Not to her")

    assert result.status is RunStatus.SUCCEEDED
    assert [name for name, _arguments, _key in tools.ledger] == ["look"]
    assert model.requests[1].messages[-1].text == (
        "Error: A person refused this call. The reason: “Not to her”. Go on without it."
    )


async def test_wait_that_ends_without_an_answer_counts_as_refused() -> None:
    model, tools = asking_model(), mail()
    runner = build_runner(model, tools, approval_timeout_hours=2)
    handle = runner.start(inputs={"q": "?"})
    [wait] = (await handle.result()).open_waits

    result = await runner.resume(handle, {wait.key: Answer(is_timed_out=True)}).result()

    assert wait.wait.due_at is not None
    assert "Nobody allowed this call in time" in model.requests[1].messages[-1].text
    assert result.status is RunStatus.SUCCEEDED


async def test_each_call_is_asked_for_and_the_author_may_ask_for_any_tool() -> None:
    tools = Tools(look=lambda: "found")
    model = ScriptedModel(("", [call("look", "a"), call("look", "b")]), "Done")
    entries = [{**entry, "needs_approval": True} for entry in tool_entries("look")]
    runner = build_runner(model, tools, tools=entries)
    handle = runner.start(inputs={"q": "?"})

    handle, second = await answer_wait(runner, handle, "allow")
    _handle, result = await answer_wait(runner, handle, "refuse")

    assert [wait.key.part for wait in second.open_waits] == ["1.tool.2"]
    assert (len(tools.ledger), result.status) == (1, RunStatus.SUCCEEDED)


def with_sender(tools: Tools) -> dict[str, Any]:
    """Return the agent's data, whose author sets the sender and the copy."""
    tools.functions["send"] = lambda to, sender, copy: f"sent to {to} by {sender}, {copy}"
    tools.schemas["send"] = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in ("to", "sender", "copy")},
    }
    settings = {"sender": "boss", "copy": {"type": "variable", "value": ["start", "text"]}}
    look, send = tool_entries("look", "send")
    return {"tools": [look, {**send, "settings": settings}]}


async def test_person_sees_all_arguments_that_will_be_sent() -> None:
    model, tools = asking_model(), mail()
    runner = build_runner(model, tools, **with_sender(tools))
    handle = runner.start(inputs={"q": "?", "text": "list@example.com"})
    [wait] = (await handle.result()).open_waits
    form: Any = wait.wait.form

    await answer_wait(runner, handle, "allow")

    sent = {"to": "ana", "sender": "boss", "copy": "list@example.com"}
    assert form["arguments"] == sent
    assert all(value in form["content"] for value in sent.values())
    assert [arguments for name, arguments, _key in tools.ledger if name == "send"] == [sent]


async def test_call_that_was_changed_after_it_was_allowed_is_asked_for_again() -> None:
    model, tools = asking_model(), mail()
    tools.versions["send"] = "to the old server"
    runner = build_runner(model, tools)
    handle = runner.start(inputs={"q": "?"})
    await handle.result()
    tools.versions["send"] = "to the new server"

    handle, second = await answer_wait(runner, handle, "allow")
    before = [name for name, _arguments, _key in tools.ledger]
    handle, third = await answer_wait(runner, handle, "allow")

    [again] = second.open_waits
    assert (second.status, before) == (RunStatus.PAUSED, ["look"])
    assert again.key.part.startswith("1.tool.2@")
    assert third.status is RunStatus.SUCCEEDED
    assert [name for name, _arguments, _key in tools.ledger] == ["look", "send"]


async def test_call_with_other_arguments_than_those_that_were_allowed_is_asked_for_again() -> None:
    """The author of a merged workflow has set them, and sets others while a person is asked."""
    model, tools = asking_model(), mail()
    tools.functions["send"] = lambda to, sender: f"sent to {to} by {sender}"
    tools.settings["send"] = {"sender": "boss"}
    runner = build_runner(model, tools)
    handle = runner.start(inputs={"q": "?"})
    await handle.result()
    tools.settings["send"] = {"sender": "stranger"}

    handle, second = await answer_wait(runner, handle, "allow")
    before = [name for name, _arguments, _key in tools.ledger]
    _handle, third = await answer_wait(runner, handle, "allow")

    form: Any = second.open_waits[0].wait.form
    assert (before, form["arguments"]) == (["look"], {"to": "ana", "sender": "stranger"})
    assert third.status is RunStatus.SUCCEEDED
    assert tools.ledger[-1][:2] == ("send", {"to": "ana", "sender": "stranger"})


async def test_refused_call_is_not_asked_for_again_when_its_tool_is_changed() -> None:
    model, tools = asking_model(), mail()
    tools.versions["send"] = "to the old server"
    runner = build_runner(model, tools)
    handle = runner.start(inputs={"q": "?"})
    await handle.result()
    tools.versions["send"] = "to the new server"

    _handle, result = await answer_wait(runner, handle, "refuse")

    assert result.status is RunStatus.SUCCEEDED
    assert [name for name, _arguments, _key in tools.ledger] == ["look"]


async def test_call_that_was_made_is_not_asked_for_again_when_its_tool_is_changed() -> None:
    tools = Tools(look=lambda: "found")
    model = ScriptedModel(("", [call("look", "a"), call("look", "b")]), "Done")
    entries = [{**entry, "needs_approval": True} for entry in tool_entries("look")]
    runner = build_runner(model, tools, tools=entries)
    handle = runner.start(inputs={"q": "?"})

    handle, second = await answer_wait(runner, handle, "allow")
    tools.versions["look"] = "another one"
    handle, third = await answer_wait(runner, handle, "allow")
    _handle, last = await answer_wait(runner, handle, "allow")

    assert [wait.key.part for wait in second.open_waits] == ["1.tool.2"]
    assert [wait.key.part.partition("@")[0] for wait in third.open_waits] == ["1.tool.2"]
    assert (last.status, len(tools.ledger)) == (RunStatus.SUCCEEDED, 2)


@pytest.mark.parametrize("bad", [call("send", to=3), call("sned", to="ana")])
async def test_nobody_is_asked_about_a_call_that_cannot_be_made(bad: Any) -> None:
    runner = build_runner(ScriptedModel(("", [bad]), "Done"), mail())

    result = await runner.start(inputs={"q": "?"}).result()

    assert result.status is RunStatus.SUCCEEDED


# -- because of memory ---------------------------------------------------------------------------

SECRET = "The door code of Ana is 4711-beta"
ANA = {"user_id": "ana", "conversation_id": "c1"}


class Connected(Tools):
    """A tool of a server, whose connection an admin changes after the run has found it again."""

    def __init__(self, changed_after: int) -> None:
        super().__init__(fetch=lambda url: f"Read {url}")
        self.trusted = False
        self.schemas["fetch"] = {"type": "object", "properties": {"url": {"type": "string"}}}
        self.changed_after, self.searches = changed_after, 0
        self.versions["fetch"] = "to the old server"

    async def find(self, references: Sequence[ToolReference]) -> Sequence[Tool]:
        tools = await super().find(references)
        self.searches += 1
        if self.searches == self.changed_after:
            self.versions["fetch"] = "to the new server"
        return tools

    async def call(
        self, tool: Tool, arguments: Mapping[str, Any], *, idempotency_key: str
    ) -> ToolResult:
        if tool.needs_approval and tool.version != self.versions["fetch"]:
            raise ToolFailed("The connection was changed after a person allowed this call")
        return await super().call(tool, arguments, idempotency_key=idempotency_key)


def fetch(text: str) -> Any:
    return ("", [call("fetch", url=f"http://x.test/{text}")])


def build_leaking(tools: Tools, *replies: Any) -> WorkflowRunner:
    """Return an agent that is shown a memory, reads a page, and would take the memory outside."""
    provider = InMemoryProvider()
    provider.store(StoreParams("user:ana", "door", value=SECRET))
    model, memory = ScriptedModel(fetch("page"), *replies), {"enabled": True, "scope": "user"}
    return build_runner(model, tools, provider, enhanced_memory=memory)


@pytest.mark.parametrize("changed_after", [1, 2])
async def test_call_with_memories_is_asked_for_again_when_its_connection_is_changed(
    changed_after: int,
) -> None:
    """Whether it was changed before the run went on, or between that and the call, of which the model is told then."""
    tools = Connected(changed_after)
    runner = build_leaking(tools, *[fetch(SECRET)] * changed_after, "Done")
    handle = runner.start(inputs={"q": "door"}, system=ANA)

    handle, second = await answer_wait(runner, handle, "allow")
    calls_before = len(tools.ledger)
    for _version in range(changed_after):
        handle, last = await answer_wait(runner, handle, "allow")

    assert (second.status, calls_before) == (RunStatus.PAUSED, 1)  # of the page only
    assert (last.status, len(tools.ledger)) == (RunStatus.SUCCEEDED, 2)


# -- workflows -----------------------------------------------------------------------------------


def asking_workflow() -> Document:
    """Return a workflow that asks a person something while it runs."""
    form = {
        "form_content": "Which? {{#$output.what#}}",
        "inputs": [{"output_variable_name": "what", "type": "text-input"}],
        "user_actions": [{"id": "send", "title": "Send"}],
    }
    nodes = [start(), node("ask", "human-input", **form), end("end", text=["ask", "what"])]
    return document(nodes, ["start -> ask", "ask:send -> end"])


def build_calling_agent() -> Document:
    tool = {"source": "workflow", "provider": "inner", "name": "inner", "needs_approval": True}
    return agent_document(tools=[tool])


def build_calling_node() -> Document:
    row = {"type": "member", "value": "boss"}
    settings = {"provider_type": "workflow", "provider_id": "inner", "tool_name": "inner"}
    call_inner = node("tool", "tool", approvers=[row], **settings)
    nodes = [start("q", "text"), call_inner, end("end", text=["tool", "text"])]
    return document(nodes, ["start -> tool", "tool -> end"])


@pytest.mark.parametrize("build", [build_calling_agent, build_calling_node])
async def test_call_of_a_workflow_that_goes_on_is_not_asked_for_again_once_it_is_published_anew(
    monkeypatch: pytest.MonkeyPatch, build: Callable[[], Document]
) -> None:
    """It goes on in the version that a person allowed."""
    versions, find_workflow = ["7"], LocalWorkflowTools._find_workflow

    def find_version(self: LocalWorkflowTools, reference: ToolReference) -> Tool:
        tool = find_workflow(self, reference)
        return replace(tool, version=versions[-1], needs_approval=True)

    monkeypatch.setattr(LocalWorkflowTools, "_find_workflow", find_version)
    model = ScriptedModel(("", [call("inner")]), "Done")
    runner = WorkflowRunner(
        build(), models=model, tools=Tools(), workflows={"inner": asking_workflow()}
    )
    handle = runner.start(inputs={"q": "?"})
    handle, asking = await answer_wait(runner, handle, "allow")
    versions.append("8")

    _handle, result = await answer_wait(runner, handle, "send", what="tea")

    assert asking.open_waits[0].wait.child_run_id
    assert result.status is RunStatus.SUCCEEDED, result.open_waits
