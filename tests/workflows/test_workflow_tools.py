"""Workflows that offer themselves as tools: the setting, what models are told, and the call."""

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import pytest

from accounts.errors import NotAllowed
from accounts.principals import load_run_principal
from accounts.tenancy import tenant
from config.ids import uuid7
from tests.support.cast import Cast, Person
from workflows.engine.errors import InputRejected, SubWorkflowUnavailable, ToolFailed
from workflows.engine.language.problems import Problem
from workflows.engine.ports import SubRunResult, Usage
from workflows.engine.sub_workflows.tools import run_workflow_tool
from workflows.engine.tool_calls import Tool, ToolReference, ToolResult, ToolSpec
from workflows.execution.claims import Claim
from workflows.execution.ports.workflow_tools import find_workflow_tool
from workflows.models import Workflow
from workflows.services.catalog import importing
from workflows.services.editor.drafts import rename
from workflows.services.publishing import publish
from workflows.services.tools.workflow_tools import change_tool_settings, list_workflow_tools


pytestmark = pytest.mark.django_db

START = {
    "type": "start",
    "title": "Start",
    "variables": [
        {
            "variable": "topic",
            "type": "text-input",
            "label": "Topic",
            "required": True,
            "max_length": 40,
        },
        {"variable": "tone", "type": "select", "label": "tone", "options": ["dry", "warm"]},
        {"variable": "words", "type": "number", "default": 100, "required": True},
    ],
}
END = {
    "type": "end",
    "title": "End",
    "outputs": [{"variable": "text", "value_selector": ["start", "topic"]}],
}


def build(person: Person, name: str = "Summarize a page", *, published: bool = True) -> Workflow:
    document = {
        "version": "0.1.0",
        "nodes": [{"id": "start", "data": START}, {"id": "end", "data": END}],
        "edges": [{"id": "e", "source": "start", "target": "end"}],
    }
    workflow = importing.import_document(
        person.principal, team_id=person.team.pk, source=document, name=name
    ).workflow
    if published:
        publish(person.principal, workflow=workflow)
    return workflow


def find(person: Person, slug: str) -> Tool:
    team_id = person.team.pk
    principal = load_run_principal(run_id=uuid7(), team_id=team_id, user_id=person.user.pk)
    claim = Claim(uuid7(), team_id, 1, 0, 0.0, {})
    with tenant([team_id]):
        return find_workflow_tool(principal, claim, ToolReference("workflow", slug, slug))


def test_short_name_is_readable_and_survives_renaming(cast: Cast) -> None:
    first, second = build(cast.alice), build(cast.alice)
    others = build(cast.carol)
    chinese = build(cast.alice, "总结 网页")

    renamed = rename(cast.alice.principal, workflow=first, name="Something else")

    assert [first.slug, second.slug, others.slug] == [
        "summarize-a-page",
        "summarize-a-page-2",
        "summarize-a-page",
    ]
    assert renamed.slug == "summarize-a-page"
    assert chinese.slug == "总结-网页"


def test_model_is_told_the_purpose_and_the_inputs(cast: Cast) -> None:
    workflow = build(cast.alice)
    change_tool_settings(
        cast.alice.principal, workflow=workflow, is_tool=True, description="Sums up one page."
    )

    tool = find(cast.alice, "summarize-a-page")

    assert tool.spec == ToolSpec(
        "summarize-a-page",
        "Sums up one page.",
        {
            "type": "object",
            "properties": {
                "topic": {"type": "string", "description": "Topic", "maxLength": 40},
                "tone": {"type": "string", "enum": ["dry", "warm"]},
                "words": {"type": "number"},
            },
            "required": ["topic"],
            "additionalProperties": False,
        },
        aliases=("Summarize a page", "summarize-a-page"),
    )


def test_name_for_models_has_only_letters_that_they_accept(cast: Cast) -> None:
    workflow = build(cast.alice, "总结")
    change_tool_settings(cast.alice.principal, workflow=workflow, is_tool=True)

    assert find(cast.alice, "总结").spec.name == f"workflow_{workflow.pk.hex[-12:]}"


def test_only_published_tools_of_the_own_team_are_found(cast: Cast) -> None:
    quiet = build(cast.alice, "Quiet")
    draft = build(cast.alice, "Draft", published=False)
    carols = build(cast.carol, "Carols")
    for person, workflow in ((cast.alice, draft), (cast.carol, carols)):
        change_tool_settings(person.principal, workflow=workflow, is_tool=True)

    reasons = {}
    for slug in (quiet.slug, draft.slug, carols.slug, str(carols.pk), "nothing"):
        with pytest.raises(ToolFailed) as failed:
            find(cast.alice, slug)
        reasons[slug] = str(failed.value)

    assert reasons == {
        "quiet": "The workflow Quiet can't be used as a tool",
        "draft": "The workflow Draft is not published",
        "carols": "There is no workflow 'carols' that this run may use",
        str(carols.pk): f"There is no workflow '{carols.pk}' that this run may use",
        "nothing": "There is no workflow 'nothing' that this run may use",
    }
    assert [
        each.spec.name for each in list_workflow_tools(cast.alice.principal, cast.team_a.pk)
    ] == []
    assert [
        each.spec.name for each in list_workflow_tools(cast.carol.principal, cast.team_b.pk)
    ] == ["carols"]


def test_viewers_do_not_change_the_setting(cast: Cast) -> None:
    workflow = build(cast.alice)

    with pytest.raises(NotAllowed):
        change_tool_settings(cast.vic.principal, workflow=workflow, is_tool=True)


def test_setting_is_changed_on_its_page_and_by_api(cast: Cast) -> None:
    workflow = build(cast.alice)
    url = f"/workflows/{workflow.pk}/tool/"

    page = cast.alice.client.get(url).content.decode()
    cast.alice.client.post(url, {"is_tool": "on", "description": "Sums up."})
    listed = cast.alice.client.get("/api/v1/workflow-tools").json()["items"]
    patched = cast.alice.client.patch(
        f"/api/v1/workflows/{workflow.pk}", {"is_tool": False}, content_type="application/json"
    ).json()

    assert "summarize-a-page" in page
    assert [(each["name"], each["description"]) for each in listed] == [
        ("summarize-a-page", "Sums up.")
    ]
    assert (patched["slug"], patched["is_tool"], patched["tool_description"]) == (
        "summarize-a-page",
        False,
        "Sums up.",
    )
    assert patched["revision"] == workflow.revision


class Children:
    """Answers every call in the same way, and notes the calls."""

    def __init__(self, answer: SubRunResult | Exception) -> None:
        self.answer, self.calls = answer, list[tuple[str, Mapping[str, Any], str, bool, bool]]()

    async def run(
        self,
        reference: str,
        inputs: Mapping[str, Any],
        *,
        idempotency_key: str,
        is_untrusted: bool = False,
        is_chosen: bool = False,
        memories: Collection[str] = (),
        version: str = "",
    ) -> SubRunResult:
        self.calls.append((reference, inputs, idempotency_key, is_untrusted, is_chosen))
        self.memories, self.version = memories, version
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def has_begun(self, idempotency_key: str) -> bool:
        return False


TOOL = Tool(ToolReference("workflow", "sum", "sum"), ToolSpec("sum"))


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (SubRunResult("r", "succeeded", {"text": "short"}, usage=Usage(5, 2)),
         ToolResult("short", [{"text": "short"}], prompt_tokens=5, completion_tokens=2)),
        (SubRunResult("r", "succeeded", {"a": 1, "b": "é"}),
         ToolResult('{"a": 1, "b": "é"}', [{"a": 1, "b": "é"}])),
        (SubRunResult("r", "failed", error="no model"),
         ToolResult("sum failed: no model", is_error=True)),
        (InputRejected([Problem("input.invalid", "topic is required", field="topic")]),
         ToolResult("topic is required", is_error=True)),
    ],
)  # fmt: skip
def test_call_answers_with_the_outputs_or_the_reason(
    answer: SubRunResult | Exception, result: ToolResult
) -> None:
    children = Children(answer)

    got = asyncio.run(run_workflow_tool(children, TOOL, {"topic": "x"}, idempotency_key="k"))

    assert got == result
    assert children.calls == [("sum", {"topic": "x"}, "k", True, False)]  # a model wrote the inputs


def test_child_is_told_that_outside_text_may_have_chosen_the_call() -> None:
    children = Children(SubRunResult("r", "succeeded", {"text": "short"}))
    tool = replace(TOOL, is_chosen=True)

    asyncio.run(run_workflow_tool(children, tool, {}, idempotency_key="k"))

    assert children.calls == [("sum", {}, "k", True, True)]


def test_words_of_memories_go_to_the_child_and_come_back_with_its_answer() -> None:
    children = Children(SubRunResult("r", "succeeded", {"text": "It is 4711"}, memories=("4711",)))
    tool = replace(TOOL, memories=("beatrix",))

    result = asyncio.run(run_workflow_tool(children, tool, {}, idempotency_key="k"))

    assert (children.memories, result.memories) == (("beatrix",), ("4711",))


def test_call_of_a_workflow_that_is_gone_fails() -> None:
    children = Children(SubWorkflowUnavailable("There is no workflow 'sum'"))

    with pytest.raises(ToolFailed, match="There is no workflow 'sum'"):
        asyncio.run(run_workflow_tool(children, TOOL, {}, idempotency_key="k"))


@pytest.mark.parametrize(("needs_approval", "version"), [(True, "7"), (False, "")])
def test_child_is_started_in_the_version_that_a_person_allowed(
    needs_approval: bool, version: str
) -> None:
    children = Children(SubRunResult("r", "succeeded", {"text": "short"}))
    tool = replace(TOOL, needs_approval=needs_approval, version="7")

    asyncio.run(run_workflow_tool(children, tool, {}, idempotency_key="k"))

    assert children.version == version
