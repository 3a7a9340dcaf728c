"""Workflows, branches and rounds that outside text chose: what they store waits for a review, whatever they read."""

from typing import Any

import pytest

from memory.core.records import Tier
from memory.providers.in_memory import InMemoryProvider
from tests.engine.agent.scripted import MODEL, ScriptedModel, call
from tests.engine.language.test_carried_marks import TEXT, build, chain, keep, list_tiers
from tests.engine.language.test_untrusted import SYSTEM, WEB, Page
from tests.support.cases import for_each
from tests.support.documents import branch, document, end, node, start, template
from tests.support.engine import JinjaHere
from workflows.engine.language.document import Document, NodeSpec
from workflows.engine.language.failure_policy import FAIL_HANDLE
from workflows.engine.nodes import build_kinds
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.runtime.step_records import RunStatus


WAITS, STORED = (Tier.QUARANTINE, "web"), (Tier.LONG_TERM, None)
# Neither the workflow nor the one below it reads anything of whoever called it.
FIXED = node("fixed", "template-transform", template="The door is open", variables=[])


def keep_fixed(key: str) -> Document:
    store = node("inner", "memory-store", scope="user", key=key, value_selector=["fixed", "output"])
    return document(
        [start(), FIXED, store, end(out=["fixed", "output"])],
        ["start -> fixed", "fixed -> inner", "inner -> end"],
    )


def run_workflow(name: str = "keeper", node_id: str = "sub") -> NodeSpec:
    outputs = [{"variable": "out", "value_type": "string"}]
    return node(node_id, "sub-workflow", workflow=name, inputs={}, outputs=outputs)


BELOW = document([start(), run_workflow(), end(out=["sub", "out"])], ["start -> sub", "sub -> end"])
WORKFLOWS = {"keeper": keep_fixed("k"), "other": keep_fixed("o"), "below": BELOW}


async def run(
    made: Document, *replies: Any, own: str = "mine", text: str = TEXT
) -> list[tuple[Tier, Any]]:
    """Run the document and return the tiers and origins of what it has stored."""
    memory = InMemoryProvider()
    runner = WorkflowRunner(
        made,
        memory=memory,
        models=ScriptedModel(*replies),
        templates=JinjaHere(),
        plugins=[Page()],
        workflows=WORKFLOWS,
    )
    result = await runner.run(inputs={"q": text, "own": own}, system=SYSTEM)
    assert result.status is RunStatus.SUCCEEDED, result.error
    return list_tiers(memory)


CLASSES = [{"id": "1", "name": "Tea"}, {"id": "2", "name": "Other"}]
SORT = node("sort", "question-classifier", model=MODEL, classes=CLASSES,
            query_variable_selector=["web", "text"])  # fmt: skip
TEA = '{"category_name": "Tea", "category_id": "1"}'


def behind(*chooser: NodeSpec, handle: str, called: NodeSpec) -> Document:
    """The page, then the branch that decides whether the called node runs."""
    edges = ["start -> web", f"web -> {chooser[0].id}", f"{chooser[0].id}:{handle} -> {called.id}"]
    return build([WEB, *chooser, called, end()], [*edges, f"{called.id} -> end"])


CHOOSERS: dict[str, tuple[NodeSpec, str]] = {
    "a condition": (branch("if", ["web", "text"], TEXT), "true"),
    "a classifier": (SORT, "1"),
}
CALLED: dict[str, NodeSpec] = {
    "a sub-workflow": run_workflow(),
    "a workflow in a sub-workflow": run_workflow("below"),
    "a workflow as a tool": node(
        "sub", "tool", provider_type="workflow", provider_id="keeper", tool_name="keeper"
    ),
}


@pytest.mark.parametrize("called", CALLED)
@pytest.mark.parametrize("chooser", CHOOSERS)
async def test_workflow_that_outside_text_chose_carries_the_mark(chooser: str, called: str) -> None:
    branch_node, handle = CHOOSERS[chooser]

    stored = await run(behind(branch_node, handle=handle, called=CALLED[called]), TEA)

    assert stored == [WAITS]


@pytest.mark.parametrize("called", CALLED)
async def test_workflow_that_the_person_chose_carries_none(called: str) -> None:
    own = branch("if", ["start", "own"], "mine")

    assert await run(behind(own, handle="true", called=CALLED[called])) == [STORED]


# -- agents --------------------------------------------------------------------------------------


TOOL = {"source": "workflow", "name": "keeper", "provider": "keeper"}


def ask_agent(query: str) -> Document:
    agent = node("agent", "agent", model=MODEL, query=query, tools=[TOOL])
    return chain(WEB, agent, end(text=["agent", "text"]))


@pytest.mark.parametrize(
    ("query", "expected"), [("{{#web.text#}}", WAITS), ("{{#start.own#}}", STORED)]
)
async def test_workflow_that_an_agent_calls_is_marked_once_it_has_read_outside_text(
    query: str, expected: tuple[Tier, Any]
) -> None:
    stored = await run(ask_agent(query), ("", [call("keeper")]), "Done")

    assert stored == [expected]


async def test_second_call_of_an_agent_is_marked_by_the_answer_of_the_first() -> None:
    """The answer of a workflow counts as outside text, and so does what the model does next."""
    calls = [("", [call("keeper", "1")]), ("", [call("other", "2")]), "Done"]
    tools = [TOOL, {"source": "workflow", "name": "other", "provider": "other"}]
    agent = node("agent", "agent", model=MODEL, query="{{#start.own#}}", tools=tools)

    stored = await run(chain(agent, end(text=["agent", "text"])), *calls)

    assert stored == [STORED, WAITS]


# -- failures ------------------------------------------------------------------------------------


class Failing(Page):
    """A page whose server decides whether the step fails."""

    name = "web-page-that-fails"

    def run(self, prepared: Any, ctx: Any) -> Any:
        if ctx.pool.get(("start", "q")) == "fail":
            raise ConnectionError("no")
        return super().run(prepared, ctx)


@pytest.mark.parametrize(("text", "handle"), [("fine", "source"), ("fail", FAIL_HANDLE)])
async def test_branch_that_the_failure_of_a_page_chose_is_marked(text: str, handle: str) -> None:
    page = node("web", Failing.name, error_strategy=FAIL_HANDLE)
    made = build(
        [page, keep(), end(), template("t", "x")],
        ["start -> web", f"web:{handle} -> keep", "keep -> end",
         f"web:{'source' if handle == FAIL_HANDLE else FAIL_HANDLE} -> t"],
    )  # fmt: skip
    memory = InMemoryProvider()
    runner = WorkflowRunner(made, memory=memory, templates=JinjaHere(), plugins=[Failing()])

    result = await runner.run(inputs={"q": text, "own": "mine"}, system=SYSTEM)

    assert result.is_successful, result.error
    assert list_tiers(memory) == [WAITS]


# -- images --------------------------------------------------------------------------------------


IMAGE = {
    "type": "image",
    "transfer_method": "remote_url",
    "url": "https://x.test/sign.png",
    "name": "sign.png",
}
VISION = {"enabled": True}
PARAMETERS = [{"name": "name", "type": "string", "description": "", "required": False}]
READERS: dict[str, tuple[NodeSpec, list[str], Any]] = {
    "llm": (
        node("see", "llm", model=MODEL, vision=VISION,
             prompt_template=[{"role": "user", "text": "What is written here?"}]),
        ["see", "text"], TEXT),
    "agent": (
        node("see", "agent", model=MODEL, vision=VISION, query="What is written here?"),
        ["see", "text"], TEXT),
    "question-classifier": (
        node("see", "question-classifier", model=MODEL, vision=VISION, classes=CLASSES,
             query_variable_selector=["start", "own"]),
        ["start", "own"], TEA),
    "parameter-extractor": (
        node("see", "parameter-extractor", model=MODEL, vision=VISION, query=["start", "own"],
             parameters=PARAMETERS, reasoning_mode="prompt"),
        ["see", "name"], '{"name": "Max"}'),
}  # fmt: skip


@for_each("files, expected", [([IMAGE], WAITS), ([], STORED)])
@for_each("kind", READERS)
async def test_what_a_model_reads_out_of_an_image_waits_for_a_review(
    kind: str, files: list[Any], expected: tuple[Tier, Any]
) -> None:
    reader, value, reply = READERS[kind]
    handle = ":1" if kind == "question-classifier" else ""
    made = build(
        [reader, keep(value), end()], ["start -> see", f"see{handle} -> keep", "keep -> end"]
    )
    memory = InMemoryProvider()
    runner = WorkflowRunner(made, memory=memory, models=ScriptedModel(reply))

    result = await runner.run(inputs={"q": "", "own": "mine"}, system={**SYSTEM, "files": files})

    assert result.status is RunStatus.SUCCEEDED, result.error
    assert list_tiers(memory) == [expected]


def test_every_kind_with_images_is_a_source_of_outside_text() -> None:
    """A kind that is added with vision has to say so, and to be tried above."""
    kinds = build_kinds()
    seeing = {name for name, kind in kinds.items() if "vision" in kind.config_model.model_fields}

    assert seeing == {*READERS}
    assert all(kinds[name].records_untrusted_content for name in seeing)
    assert all(
        kinds[reader.kind].brings_untrusted_content(reader)
        for reader, _value, _text in READERS.values()
    )
