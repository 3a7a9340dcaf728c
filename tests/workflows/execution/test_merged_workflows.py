"""Merged workflows with a real worker: a question in between, a retry, and a function that is a run of its own."""

from collections.abc import Callable
from typing import Any

import pytest

from accounts.tenancy import tenant
from memory.models import Entry
from memory.services.entries.run_notes import get_run_metadata
from tests.factories.workflows import make_version, make_workflow
from tests.support.cast import Cast
from tests.workflows.execution.test_streams import GROUP, _document, _node, _spaces, drive
from workflows.engine.errors import DocumentInvalid
from workflows.execution.worker import Worker
from workflows.models import Run, RunWait, StepPart, Workflow
from workflows.services.editor.drafts import load_draft
from workflows.services.runs.runs import start_run
from workflows.services.runs.waits import answer_wait
from workflows.services.tools.callable_workflows import find_call_problems
from workflows.services.tools.workflow_tools import change_tool_settings


__all__ = ["drive"]  # the fixture
pytestmark = pytest.mark.django_db(transaction=True)

REPLY = "3行3列，表头是姓名、年龄、城市"


def report(completion: str, action: str = "无", note: str = "无") -> str:
    return f"完成度评估: {completion}\n执行动作: {action}\n下一步建议: 无\n笔记: {note}"


SCRIPT = [
    {"when": "1. 询问用户: completed", "text": "表格已创建。"},
    {"when": "【当前任务】\n检查", "text": report("1")},
    {"when": "失败: desktop.create", "text": report("0.9", "[生成Excel:表格.xlsx:张三 25 北京]", "已创建Excel文件")},
    {"when": "【当前任务】\n创建", "text": report("0.9", "[desktop.create_excel_document:表格.xlsx]")},
    {"when": "【当前任务】\n询问", "text": report("0.9", "[询问用户:请告诉我表格的具体内容]", "已询问用户")},
    {"text": "决策：需要TODO工作流\nTODO列表:\n1. 询问用户\n2. 创建Excel文件\n3. 检查表格"},
]  # fmt: skip


def model(script: list[dict[str, str]]) -> dict[str, Any]:
    params = {"offline_script": script}
    return {
        "provider": "openai",
        "name": "gpt-4o-mini",
        "mode": "chat",
        "completion_params": params,
    }


@pytest.fixture
def chat(cast: Cast) -> Workflow:
    """chat merges desktop, whose agent has the workflow create_excel_document as a tool."""
    inputs = [
        {"variable": name, "type": "string", "required": True} for name in ("filename", "data")
    ]
    create = _document(
        _node("end", "end", outputs=[{"variable": "file", "value_selector": ["start", "filename"]}])
    )
    create["nodes"][0]["data"]["variables"] = inputs
    tool = make_workflow(cast.alice, "create_excel_document", create)
    make_version(cast.alice, tool)
    change_tool_settings(cast.alice.principal, workflow=tool, is_tool=True)
    entry = {
        "source": "workflow",
        "provider": tool.slug,
        "name": tool.slug,
        "title": "生成Excel",
    }
    agent = _node("agent", "agent", model=model([]), query="{{#start.text#}}", tools=[entry])
    make_version(cast.alice, make_workflow(cast.alice, "desktop", _document(agent, _end("text"))))
    store = _node(
        "store", "memory-store", scope="workflow", key="said", value_selector=["start", "text"]
    )
    return make_workflow(cast.alice, "chat", _document(merge_desktop(), store, _end("text")))


def merge_desktop(**more: Any) -> dict[str, Any]:
    return _node(
        "agent", "agent", model=model(SCRIPT), query="{{#start.text#}}", strategy="todo",
        merge=["desktop"], max_rounds=20, **more,
    )  # fmt: skip


def _end(output: str) -> dict[str, Any]:
    return _node("end", "end", outputs=[{"variable": output, "value_selector": ["agent", output]}])


def test_walk_of_the_original_design_with_a_worker(
    cast: Cast, chat: Workflow, drive: Callable[..., Run]
) -> None:
    run = drive(chat, stream=GROUP, inputs={"text": "帮我做一个表格"}, offline=True)
    assert run.status == "paused", run.error
    with tenant([run.team_id]):
        wait = RunWait.objects.unscoped().get(run=run)
    answer_wait(cast.alice.principal, run, wait_id=wait.pk, values={"answer": REPLY}, action="")

    worker = Worker(capacity=1)
    worker.execute_run(run.pk)
    worker.stop(0)

    with tenant([run.team_id]):
        run.refresh_from_db()
        [child] = Run.objects.unscoped().filter(parent_id=run.pk).select_related("workflow")
    assert run.status == "succeeded", run.error
    assert run.outputs["text"].startswith("表格已创建。")
    assert child.workflow.slug == "create_excel_document"
    assert child.inputs == {"filename": "表格.xlsx", "data": "张三 25 北京"}
    metadata = get_run_metadata(run.team_id, run.pk)
    assert metadata is not None
    assert metadata.goal == "帮我做一个表格"
    assert metadata.stream_name == "chat-desktop"
    assert [todo.status for todo in metadata.todos] == ["completed"] * 3
    assert metadata.notes == ()  # they end with the run
    assert "ai:memory:chat-desktop:group_123" in _spaces(run.team_id)


def test_reply_is_in_the_merged_memory_and_recalled_with_a_worker(
    cast: Cast, chat: Workflow, drive: Callable[..., Run]
) -> None:
    memory = {"enabled": True, "scope": "workflow", "query_selector": ["start", "text"]}
    agent = merge_desktop(enhanced_memory=memory)
    remembering = make_workflow(cast.alice, "table", _document(agent, _end("text")))
    run = drive(remembering, stream=GROUP, inputs={"text": "帮我做一个表格"}, offline=True)
    assert run.status == "paused", run.error
    with tenant([run.team_id]):
        wait = RunWait.objects.unscoped().get(run=run)
    answer_wait(cast.alice.principal, run, wait_id=wait.pk, values={"answer": REPLY}, action="")

    worker = Worker(capacity=1)
    worker.execute_run(run.pk)
    worker.stop(0)

    with tenant([run.team_id]):
        run.refresh_from_db()
        stored = Entry.objects.unscoped().get(namespace__text="ai:memory:table-desktop:group_123", key__startswith="reply:")  # fmt: skip
        recalled = StepPart.objects.unscoped().get(run=run, part="todo.3.memory")
    assert run.status == "succeeded", run.error
    assert REPLY in str(stored.value)
    assert stored.metadata["origin"] == "person"
    assert [each["key"] for each in recalled.outputs["memories"]] == [stored.key]


def test_person_who_may_not_run_a_merged_workflow_may_not_merge_it(
    cast: Cast, chat: Workflow
) -> None:
    with tenant([chat.team_id]):
        Workflow.objects.unscoped().filter(name="desktop").update(slug="gone")

    with pytest.raises(DocumentInvalid, match="There is no workflow desktop in this team"):
        start_run(cast.alice.principal, workflow=chat, inputs={"text": "x"}, offline=True)


def test_problems_name_the_merged_workflow(cast: Cast) -> None:
    draft = make_workflow(cast.alice, "draft")
    agent = _node("agent", "agent", model=model([]), merge=["nowhere", draft.slug])
    workflow = make_workflow(cast.alice, "chat", _document(agent, _end("text")))

    with tenant([workflow.team_id]):
        document = load_draft(workflow)
    problems = [(each.code, each.field) for each in find_call_problems(workflow.team_id, document)]

    assert problems == [("workflow.unknown", "merge.0"), ("workflow.unpublished", "merge.1")]
