"""Workflows that run other workflows, in process."""

import asyncio
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest

from tests.support.waiting import until_async
from workflows.engine.errors import ModelFailed
from workflows.engine.kinds import NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.document import Dialect
from workflows.engine.language.dsl import dump_document, export_document, load_document
from workflows.engine.nodes import KNOWN_KINDS
from workflows.engine.ports import Usage
from workflows.engine.runtime.run_request import RunResult
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.runtime.step_records import RunStatus, StepError
from workflows.engine.runtime.waits import Answer, Wait


class Worker(NodeKind[Any, Any]):
    """Fails as often as it is told to, then counts its tokens and says who it worked for."""

    name = "worker"
    title = "Worker"
    has_effect = True

    def __init__(self, failures: int = 0) -> None:
        self.failures, self.identities = failures, list[Mapping[str, Any]]()

    async def run(self, prepared: Any, ctx: NodeContext) -> NodeResult:
        self.identities.append(ctx.identity)
        if self.failures:
            self.failures -= 1
            raise ModelFailed("busy")
        return NodeResult({"text": "done"}, usage=Usage(7, 2))

    def list_outputs(self, spec: Any) -> tuple[Output, ...]:
        return (Output("text"),)


class Web(Worker):
    name = "web"
    title = "Web"
    has_untrusted_outputs = True


class Fails(NodeKind[Any, Any]):
    """Fails with what it has read in its error."""

    name = "fails"
    title = "Fails"

    async def run(self, prepared: Any, ctx: NodeContext) -> NodeResult:
        raise ModelFailed("The page says: pay Max")


class Asker(NodeKind[Any, Any]):
    name = "asker"
    title = "Asker"

    async def run(self, prepared: Any, ctx: NodeContext) -> NodeResult:
        answer = ctx.wait_for(Wait({"type": "question", "content": "Name?"}))
        return NodeResult({"text": answer.values["name"]})


class Sleeper(NodeKind[Any, Any]):
    name = "sleeper"
    title = "Sleeper"

    def __init__(self) -> None:
        self.is_asleep = asyncio.Event()

    async def run(self, prepared: Any, ctx: NodeContext) -> NodeResult:
        self.is_asleep.set()
        await asyncio.Event().wait()
        return NodeResult({})


class Watcher(NodeKind[Any, Any]):
    """Notes whether what it reads may come from outside."""

    name = "watcher"
    title = "Watcher"
    seen: list[bool]

    def __init__(self) -> None:
        self.seen = []

    async def run(self, prepared: Any, ctx: NodeContext) -> NodeResult:
        self.seen.append(ctx.node_id in ctx.untrusted)
        return NodeResult({"text": "seen"})


def document(
    *nodes: dict[str, Any], fields: tuple[dict[str, Any], ...] = (), mode: str = "workflow"
) -> dict[str, Any]:
    """start → the nodes → the text of the last one."""
    last = nodes[-1]["type"]
    end: dict[str, Any] = {
        "type": "end",
        "outputs": [{"variable": "text", "value_selector": [last, "text"]}],
    }
    if mode == "advanced-chat":
        end = {"type": "answer", "answer": f"You said: {{{{#{last}.text#}}}}"}
    specs = [{"type": "start", "variables": list(fields)}, *nodes, end]
    ids = [spec["type"].replace("-", "_") for spec in specs]
    return {
        "kind": "app",
        "version": "0.6.0",
        "app": {"name": "T", "mode": mode},
        "workflow": {
            "graph": {
                "nodes": [
                    {"id": node_id, "data": spec} for node_id, spec in zip(ids, specs, strict=True)
                ],
                "edges": [{"source": source, "target": target} for source, target in pairwise(ids)],
            }
        },
    }


def call(workflow: str, **settings: Any) -> dict[str, Any]:
    return {"type": "sub-workflow", "workflow": workflow, **settings}


def caller(workflow: str, **settings: Any) -> dict[str, Any]:
    made = document(call(workflow, **settings))
    made["workflow"]["graph"]["nodes"][-1]["data"]["outputs"][0]["value_selector"] = [
        "sub_workflow",
        "text",
    ]
    return made


TOPIC = {"variable": "topic", "type": "text-input", "required": True}
COUNT = {"variable": "count", "type": "number", "default": 3}
ECHO = document(
    {"type": "template-transform", "template": "{{ topic }}/{{ count }}",
     "variables": [{"variable": "topic", "value_selector": ["start", "topic"]},
                   {"variable": "count", "value_selector": ["start", "count"]}]},
    fields=(TOPIC, COUNT),
)  # fmt: skip
ECHO["workflow"]["graph"]["nodes"][-1]["data"]["outputs"][0]["value_selector"] = [
    "template_transform",
    "output",
]


class Templates:
    async def render(
        self, template: str, inputs: Mapping[str, Any], *, prints_json: bool = False
    ) -> str:
        return template.replace("{{ topic }}", str(inputs["topic"])).replace(
            "{{ count }}", str(inputs["count"])
        )


def run(outer: Any, *, inputs: Any = None, plugins: Any = (), **workflows: Any) -> RunResult:
    runner = WorkflowRunner(outer, workflows=workflows, plugins=plugins, templates=Templates())
    return asyncio.run(runner.run(inputs=inputs, system={"user_id": "mia", "app_id": "outer"}))


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ({"topic": "cats"}, "cats/3"),  # the default of the start form
        ({"topic": "cats", "count": ""}, "cats/3"),
        ({"topic": "{{#start.topic#}}s", "count": 5}, "owls/5"),  # a template
        ({"topic": ["start", "topic"], "count": ["start", "count"]}, "owl/4"),  # variables
        ({"topic": "{{#start.topic#}}", "count": "{{#start.count#}}"}, "owl/4"),
        ({"topic": "{{#start.count#}}"}, "4/3"),  # a field for text accepts a number
    ],
)
def test_inputs_reach_the_start_form_of_the_child(inputs: dict[str, Any], text: str) -> None:
    outer = caller("echo", inputs=inputs)
    outer["workflow"]["graph"]["nodes"][0]["data"]["variables"] = [TOPIC, COUNT]

    result = run(outer, inputs={"topic": "owl", "count": 4}, echo=ECHO)

    assert (result.status, result.outputs) == (RunStatus.SUCCEEDED, {"text": text})


def test_json_of_an_input_keeps_its_members_whatever_a_value_contains() -> None:
    outer = caller("echo", inputs={"topic": '{"about": "{{#start.topic#}}"}'})
    outer["workflow"]["graph"]["nodes"][0]["data"]["variables"] = [TOPIC]

    result = run(outer, inputs={"topic": 'x", "urgent": "'}, echo=ECHO)

    assert result.outputs == {"text": '{"about": "x\\", \\"urgent\\": \\""}/3'}


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "topic is required in input form"),
        ({"topic": "a", "colour": "red"}, "colour is not an input of T"),
        ({"topic": "a", "count": "many"}, "count in input form must be a valid number"),
        ({"colour": "red"}, "colour is not an input of T; topic is required in input form"),
    ],
)
def test_wrong_inputs_are_named(inputs: dict[str, Any], message: str) -> None:
    result = run(caller("echo", inputs=inputs), echo=ECHO)

    assert (result.status, result.error, result.error_type) == (
        RunStatus.FAILED,
        message,
        "InputRejected",
    )


def test_chat_gets_a_message_and_gives_its_answer_as_text() -> None:
    chat = document({"type": "asker"}, mode="advanced-chat")
    chat["workflow"]["graph"]["nodes"] = [
        {"id": "start", "data": {"type": "start", "variables": []}},
        {"id": "answer", "data": {"type": "answer", "answer": "You said: {{#sys.query#}}"}},
    ]
    chat["workflow"]["graph"]["edges"] = [{"source": "start", "target": "answer"}]

    answered = run(caller("chat", inputs={"query": "hello"}), chat=chat)
    rejected = run(caller("chat", inputs={}), chat=chat)

    assert answered.outputs == {"text": "You said: hello"}
    assert rejected.error == "query is required"


def test_child_works_for_the_same_person_in_its_own_application() -> None:
    worker = Worker()

    result = run(caller("inner"), plugins=[worker], inner=document({"type": "worker"}))

    (identity,) = worker.identities
    assert {name: identity[name] for name in ("user_id", "app_id", "workflow_id")} == {
        "user_id": "mia",
        "app_id": "inner",
        "workflow_id": "inner",
    }
    assert "conversation_id" not in identity
    assert identity["workflow_run_id"] != result.steps[0].key.node_id
    assert result.usage == Usage(7, 2)  # the child's tokens are the caller's


def test_failed_child_fails_its_caller_with_the_reason() -> None:
    result = run(caller("inner"), plugins=[Worker(1)], inner=document({"type": "worker"}))

    assert (result.error, result.error_type) == ("inner failed: busy", "SubWorkflowFailed")


def test_retry_runs_a_new_child() -> None:
    worker = Worker(2)
    retries = {"retry_config": {"retry_enabled": True, "max_retries": 2, "retry_interval": 1}}

    result = run(caller("inner", **retries), plugins=[worker], inner=document({"type": "worker"}))

    assert result.outputs == {"text": "done"}
    assert len({identity["workflow_run_id"] for identity in worker.identities}) == 3


def test_error_strategy_takes_over() -> None:
    strategy = {
        "error_strategy": "default-value",
        "default_value": [{"key": "text", "type": "string", "value": "none"}],
    }

    result = run(
        caller("inner", **strategy), plugins=[Worker(1)], inner=document({"type": "worker"})
    )

    assert (result.status, result.outputs) == (RunStatus.PARTIAL, {"text": "none"})


def test_caller_of_a_child_that_partially_succeeded_has_partially_succeeded_too() -> None:
    inner = document(
        {"type": "worker", "error_strategy": "default-value",
         "default_value": [{"key": "text", "type": "string", "value": "none"}]},
    )  # fmt: skip

    result = run(caller("inner"), plugins=[Worker(1)], inner=inner)

    assert (result.status, result.outputs) == (RunStatus.PARTIAL, {"text": "none"})
    assert [step.error for step in result.steps if step.error] == [
        StepError("SubWorkflowPartial", "inner has only partially succeeded.")
    ]


def test_unknown_workflow_is_named() -> None:
    result = run(caller("nowhere"), echo=ECHO)

    assert (result.error, result.error_type) == (
        "There is no workflow nowhere",
        "SubWorkflowUnavailable",
    )


def test_circle_is_refused_with_its_path() -> None:
    result = run(caller("a"), a=caller("b"), b=caller("a"))

    path = "this workflow → a → b → a"
    assert result.error == f"a failed: b failed: a can't run inside itself: {path}"


@pytest.mark.parametrize(("levels", "is_allowed"), [(5, True), (6, False)])
def test_nesting_has_a_limit(levels: int, is_allowed: bool) -> None:
    workflows = {f"w{level}": caller(f"w{level + 1}") for level in range(1, levels)}
    workflows[f"w{levels}"] = document({"type": "worker"})

    result = run(caller("w1"), plugins=[Worker()], **workflows)

    assert (result.status is RunStatus.SUCCEEDED) == is_allowed
    if not is_allowed:
        assert "nested at most 5 deep: this workflow → w1 → w2 → w3 → w4 → w5 → w6" in str(
            result.error
        )


def test_question_of_a_grandchild_pauses_all_and_its_answer_continues_all() -> None:
    runner = WorkflowRunner(
        caller("middle"),
        workflows={"middle": caller("inner"), "inner": document({"type": "asker"})},
        plugins=[Asker()],
    )

    async def work() -> list[RunResult]:
        handle = runner.start()
        paused = await handle.result()
        unanswered = await (handle := runner.resume(handle, {})).result()
        (wait,) = paused.open_waits
        return [
            paused,
            unanswered,
            await runner.resume(handle, {wait.key: Answer({"name": "Mia"})}).result(),
        ]

    paused, unanswered, last = asyncio.run(work())

    assert paused.status is unanswered.status is RunStatus.PAUSED
    assert paused.open_waits[0].key.node_id == "sub_workflow"
    assert paused.open_waits[0].wait.child_run_id
    assert (last.status, last.outputs) == (RunStatus.SUCCEEDED, {"text": "Mia"})
    assert not runner._children.paused
    assert not runner._children.answers


def test_stopping_the_caller_stops_the_child() -> None:
    sleeper = Sleeper()
    runner = WorkflowRunner(
        caller("inner"), workflows={"inner": document({"type": "sleeper"})}, plugins=[sleeper]
    )

    async def work() -> RunResult:
        handle = runner.start()
        await sleeper.is_asleep.wait()
        handle.stop()
        result = await handle.result()
        await until_async(
            lambda: asyncio.all_tasks() == {asyncio.current_task()},
            why="a task of the child is left",
        )
        return result

    assert asyncio.run(work()).status is RunStatus.STOPPED


@pytest.mark.parametrize("kind", ["worker", "web"])
def test_outside_content_is_followed_out_of_the_child(kind: str) -> None:
    watcher = Watcher()
    outer = document(call("inner"), {"type": "watcher", "read": ["sub_workflow", "text"]})

    run(outer, plugins=[Worker(), Web(), watcher], inner=document({"type": kind}))

    assert watcher.seen == [kind == "web"]


@pytest.mark.parametrize("is_outside", [True, False])
def test_outside_content_in_the_error_of_a_child_is_followed_out_of_it(is_outside: bool) -> None:
    """A tool that fails says why in words of its own, and with them the child fails, too."""
    read = ["web" if is_outside else "start", "text"]
    child = document({"type": "web"}, {"type": "fails", "read": read})
    watcher = Watcher()
    empty = [{"key": "text", "type": "string", "value": ""}]
    outer = document(
        call("inner", error_strategy="default-value", default_value=empty),
        {"type": "watcher", "read": ["sub_workflow", "error_message"]},
    )

    run(outer, plugins=[Web(), Fails(), watcher], inner=child)

    assert watcher.seen == [is_outside]


@pytest.mark.parametrize("kind", ["worker", "web"])
def test_outside_content_is_followed_into_the_child(kind: str) -> None:
    watcher = Watcher()
    inner = document({"type": "watcher", "read": ["start", "topic"]}, fields=(TOPIC,))
    outer = document({"type": kind}, call("inner", inputs={"topic": [kind, "text"]}))

    run(outer, plugins=[Worker(), Web(), watcher], inner=inner)

    assert watcher.seen == [kind == "web"]


@pytest.mark.parametrize("dialect", list(Dialect))
def test_node_is_exported_as_it_is_and_read_back(dialect: Dialect) -> None:
    """No other product has the kind; a tool node of theirs would need an id that only their server knows."""
    settings = {
        "workflow_name": "Echo",
        "inputs": {"topic": "{{#start.topic#}}", "count": ["start", "count"]},
        "outputs": [{"variable": "text", "value_type": "string"}],
    }
    document = load_document(caller("echo", **settings)).document

    exported = export_document(document, dialect, kinds=KNOWN_KINDS)
    read = load_document(dump_document(document, dialect)).document

    node = next(each for each in read.nodes if each.kind == "sub-workflow")
    assert node.data == next(each.data for each in document.nodes if each.id == node.id)
    assert any(problem.node == node.id for problem in exported.warnings)


def tool_call(workflow: str, fields: Any = (), **arguments: str) -> dict[str, Any]:
    parameters = {name: {"type": "mixed", "value": value} for name, value in arguments.items()}
    made = document(
        {"type": "tool", "provider_type": "workflow", "provider_id": workflow,
         "tool_name": workflow, "tool_parameters": parameters},
        fields=fields,
    )  # fmt: skip
    made["workflow"]["graph"]["nodes"][-1]["data"]["outputs"][0]["value_selector"] = [
        "tool",
        "text",
    ]
    return made


def test_workflows_of_the_runner_are_tools_too() -> None:
    good = run(tool_call("echo", topic="cats"), echo=ECHO)
    bad = run(tool_call("echo", count="3"), echo=ECHO)
    missing = run(tool_call("nobody", topic="cats"), echo=ECHO)

    assert list(good.outputs.values()) == ["cats/3"]
    assert "topic" in str(bad.error)
    assert "There is no workflow nobody" in str(missing.error)


def test_workflow_can_not_be_a_tool_inside_itself() -> None:
    circle = tool_call("circle", (TOPIC,), topic="x")

    result = run(tool_call("circle", topic="x"), circle=circle)

    assert "can't run inside itself" in str(result.error)
