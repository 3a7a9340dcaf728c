"""The todo loop: the walk of the original design, limits, retries, and what a resumed run does not repeat."""

from typing import Any

from memory.core.records import MemoryQuery
from memory.providers.in_memory import InMemoryProvider
from tests.engine.agent.scripted import (
    MODEL,
    ScriptedModel,
    Tools,
    answer_wait,
    call,
    tool_entries,
)
from tests.support.documents import document, end, node, start
from workflows.engine.errors import ToolFailed
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.runtime.step_records import RunStatus, StepError


TODOS = "分析：复杂任务\n决策：需要TODO工作流\nTODO列表:\n1. 询问用户表格的内容\n2. 创建Excel文件\n3. 检查表格"
REPLY = "3行3列，表头是姓名、年龄、城市"
SCHEMA = {
    "type": "object",
    "properties": {"filename": {"type": "string"}, "data": {"type": "array"}},
    "required": ["filename", "data"],
}


def step(completion: str, action: str = "无", next_step: str = "无", note: str = "无") -> str:
    return f"完成度评估: {completion}\n执行动作: {action}\n下一步建议: {next_step}\n笔记: {note}"


def build(model: Any, tools: Tools, provider: Any = None, **data: Any) -> WorkflowRunner:
    settings = {
        "model": MODEL,
        "query": "{{#start.q#}}",
        "strategy": "todo",
        "max_rounds": 20,
        **data,
    }
    nodes = [
        start("q"),
        node("agent", "agent", **settings, tools=tool_entries(*tools.functions)),
        end(**{name: ["agent", name] for name in ("text", "todos", "notes", "finish_reason")}),  # type: ignore[arg-type]
    ]
    made = document(nodes, ["start -> agent", "agent -> end"])
    return WorkflowRunner(made, models=model, tools=tools, memory=provider)


async def test_walk_asks_a_person_retries_a_step_and_shares_notes() -> None:
    attempts: list[str] = []

    def create_excel(filename: str, data: list[Any]) -> str:
        attempts.append(filename)
        if len(attempts) == 1:
            raise ToolFailed("the disk is full")
        return f"created {filename} with {len(data)} rows"

    tools = Tools(create_excel=create_excel)
    tools.schemas["create_excel"] = SCHEMA
    tools.trusted = True
    create = '[create_excel:表格.xlsx:[{"姓名":"张三","年龄":25},{"姓名":"李四","年龄":30}]]'
    model = ScriptedModel(
        TODOS,
        step("0.3", next_step="询问用户", note="具体内容未确定"),
        step("0.9", "[询问用户:请告诉我表格的具体内容]", note="已询问用户"),
        step("0.8", create),
        step("90%", create, note="已创建Excel文件"),
        step("1"),
        "表格已创建。",
    )
    provider = InMemoryProvider()
    runner = build(model, tools, provider)
    handle = runner.start(inputs={"q": "帮我做一个表格"})
    paused = await handle.result()
    asked = len(model.requests)

    handle, result = await answer_wait(runner, handle, "", answer=REPLY)

    assert paused.status is RunStatus.PAUSED
    assert paused.open_waits[0].wait.form is not None
    assert paused.open_waits[0].wait.form["type"] == "question"
    assert result.status is RunStatus.SUCCEEDED, result.error
    assert asked == 3  # the run paused after the decision and two steps, which are not repeated
    assert len(model.requests) == 7
    todos = result.outputs["todos"]
    assert [(each["id"], each["status"], len(each["steps"])) for each in todos] == [
        ("todo_0", "completed", 2),
        ("todo_1", "completed", 2),
        ("todo_2", "completed", 1),
    ]
    assert attempts == ["表格.xlsx", "表格.xlsx"]
    prompts = [request.messages[-1].text for request in model.requests]
    assert "暂无笔记" in prompts[1]
    assert "1. 具体内容未确定" in prompts[2]
    assert "【当前步骤】\n询问用户" in prompts[2]
    assert "1. 已询问用户\n2. 具体内容未确定" in prompts[3]
    assert REPLY in prompts[3]
    assert "1. 失败: create_excel: " in prompts[4]
    assert [note["source"] for note in result.outputs["notes"]] == [
        "todo_1", "todo_1", "todo_0", "todo_0",
    ]  # fmt: skip
    assert {*result.outputs["notes"][0]} == {"content", "source", "time", "temporary"}
    assert result.outputs["text"].strip() == "表格已创建。"
    [metadata] = provider.recall(MemoryQuery(f"ai:workflow:{handle.run_id}"))
    assert metadata.value["goal"] == "帮我做一个表格"
    assert [each["status"] for each in metadata.value["todos"]] == ["completed"] * 3
    # The notes are cleared at the end of the run.
    assert provider.recall(MemoryQuery(f"ai:notes:{handle.run_id}")) == []


async def test_simple_task_is_answered_at_once_with_tools() -> None:
    tools = Tools(look=lambda: "sunny")
    model = ScriptedModel(("", [call("look")]), "It is sunny.")

    result = await build(model, tools).run(inputs={"q": "How is the weather?"})

    assert result.outputs["text"].strip() == "It is sunny."
    assert result.outputs["todos"] == []
    assert [name for name, *_ in tools.ledger] == ["look"]
    assert len(model.requests) == 2


async def test_todo_fails_after_its_retries_and_the_others_go_on() -> None:
    def broken() -> str:
        raise ToolFailed("out of order")

    tools = Tools(broken=broken)
    failing = "Completion: 1\nAction: [broken]\nNext step: None\nNote: None"
    model = ScriptedModel(
        "Todos:\n1. Use it\n2. Report", failing, failing, "Completion: 100%", "It is broken."
    )

    result = await build(model, tools, max_action_retries=1).run(inputs={"q": "Try"})

    assert [each["status"] for each in result.outputs["todos"]] == ["failed", "completed"]
    assert result.status is RunStatus.PARTIAL
    said, undone = result.outputs["text"].split("\n\n")
    assert (said.strip(), undone) == (
        "It is broken.",
        "Not done: 1 of 2 to-dos.\n- Use it (failed)",
    )
    [error] = [each.error for each in result.steps if each.key.node_id == "agent"]
    assert error == StepError(
        "TodosNotDone",
        "1 of 2 to-dos were not done: “Use it”. Last error: Failed: broken: Error: out of order",
    )
    assert len(tools.ledger) == 2
    assert [note["content"][:15] for note in result.outputs["notes"]] == ["Failed: broken:"] * 2


async def test_next_step_of_the_last_todo_adds_a_todo() -> None:
    model = ScriptedModel(
        "Todos:\n1. Write", "Completion: 1\nNext step: Proofread it", "Completion: 1", "Done."
    )

    result = await build(model, Tools()).run(inputs={"q": "Write a text"})

    contents = [each["content"] for each in result.outputs["todos"]]
    assert contents == ["Write", "Proofread it"]


async def test_rounds_end_a_loop_that_never_completes() -> None:
    model = ScriptedModel("Todos:\n1. Endless", "Completion: 0.1\nNext step: again")

    result = await build(model, Tools(), max_rounds=5).run(inputs={"q": "Go"})

    assert result.outputs["finish_reason"] == "max_rounds"
    assert len(model.requests) == 6


async def test_todos_that_a_limit_left_undone_are_skipped_in_outputs_and_metadata() -> None:
    provider = InMemoryProvider()
    model = ScriptedModel(
        "Todos:\n1. Ask\n2. Make\n3. Check",
        "Completion: 1",
        "Completion: 0.2\nNext step: go on",
        ("", [call("look")]),  # the last answer is a call, although no tool is offered
    )
    runner = build(model, Tools(look=lambda: ""), provider, max_rounds=3)

    handle = runner.start(inputs={"q": "Go"})
    result = await handle.result()

    assert result.status is RunStatus.PARTIAL, result.error
    assert [(each["status"], each.get("reason")) for each in result.outputs["todos"]] == [
        ("completed", None),
        ("skipped", "limit"),
        ("skipped", "limit"),
    ]
    assert result.outputs["finish_reason"] == "max_rounds"
    assert result.outputs["text"] == (
        "The agent used all its rounds before it had an answer.\n\n"
        "1. Ask: completed\n\n"
        "Not done: 2 of 3 to-dos.\n"
        "- Make (skipped: a limit was reached)\n"
        "- Check (skipped: a limit was reached)"
    )
    [metadata] = provider.recall(MemoryQuery(f"ai:workflow:{handle.run_id}"))
    assert [each["status"] for each in metadata.value["todos"]] == [
        "completed", "skipped", "skipped",
    ]  # fmt: skip
    assert metadata.value["todos"][1]["reason"] == "limit"


async def test_default_rounds_are_enough_for_the_longest_plan() -> None:
    todos = "\n".join(f"{number}. Part {number}" for number in range(1, 21))
    model = ScriptedModel(f"Todos:\n{todos}", *["Completion: 0.5", "Completion: 1"] * 20, "Done.")

    result = await build(model, Tools(), max_rounds=None).run(inputs={"q": "Go"})

    assert result.outputs["finish_reason"] == "stop"
    assert {each["status"] for each in result.outputs["todos"]} == {"completed"}
    assert len(model.requests) == 42


async def test_simple_task_keeps_the_default_of_ten_rounds() -> None:
    model = ScriptedModel(*[("", [call("look")])] * 10, "I looked ten times.")

    result = await build(model, Tools(look=lambda: ""), max_rounds=None).run(inputs={"q": "Look"})

    assert result.outputs["finish_reason"] == "max_rounds"
    assert len(model.requests) == 11


async def test_answer_that_cannot_be_read_is_asked_for_again() -> None:
    model = ScriptedModel("Todos:\n1. Write", "I did it!", "Completion: 1", "Done.")

    result = await build(model, Tools()).run(inputs={"q": "Write"})

    assert "not in the output format" in model.requests[2].messages[-1].text
    assert result.outputs["todos"][0]["status"] == "completed"
    assert result.status is RunStatus.SUCCEEDED


async def test_names_of_todos_that_were_not_done_are_in_the_language_of_the_task() -> None:
    def broken() -> str:
        raise ToolFailed("out of order")

    names = [f"第 {number} 步" for number in range(1, 8)]
    plan = "TODO列表:\n" + "\n".join(f"{n}. {name}" for n, name in enumerate(names, start=1))
    model = ScriptedModel(plan, *[step("1", "[broken]")] * 7, "没有完成。")

    result = await build(model, Tools(broken=broken), max_action_retries=0).run(
        inputs={"q": "请做"}
    )

    lines = result.outputs["text"].strip().split("\n")
    assert lines[2:] == [
        "未完成：7 项待办中的 7 项。",
        *[f"- {name}（失败）" for name in names[:5]],
        "- 以及另外 2 项",
    ]
    assert result.status is RunStatus.PARTIAL
