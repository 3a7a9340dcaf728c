"""What the todo loop reads in the answers of models, in both languages, and what hostile answers do to it."""

import json

import pytest

from tests.support.cases import for_each
from tests.support.processor_time import limit_cpu
from workflows.engine.nodes.agent.todo_actions import build_arguments, parse_actions
from workflows.engine.nodes.agent.todo_text import (
    MAX_TODOS,
    StepReport,
    parse_completion,
    parse_report,
    parse_todos,
)
from workflows.engine.tool_calls import ToolSpec


@for_each("text, todos",
    [
        ("决策：需要TODO工作流\nTODO列表:\n1. 询问\n2. 创建\n", ("询问", "创建")),
        ("TODO列表：\n１．询问\n２、创建", ("询问", "创建")),
        ("**TODO列表：**\n```\n1) 询问\n2) 创建\n```\n完。", ("询问", "创建")),
        ("Decision: todos\nTodos:\n1. Ask\n\n2. Make it", ("Ask", "Make it")),
        ("## TODO list\n- [ ] Ask\n- Make", ("Ask", "Make")),
        ("Todos:\n1. **Compute** 2+3\n   - with the calculator\n2. Report it",
         ("Compute 2+3\n- with the calculator", "Report it")),
        ("Todos:\n1. Compute\n- quickly\n- well\n2. Report", ("Compute\n- quickly\n- well", "Report")),
        ("Todos:\n**1. Compute the sum**\n**2. Report**: now\n3. *Tell* them __all__ of it",
         ("Compute the sum", "Report: now", "Tell them all of it")),
        ("Todos:\n* **Ask**\n  why\n* Make **it", ("Ask\n- why", "Make it")),
        ("Todos:\n### 1. Ask\n### 2. Make", ("Ask", "Make")),
        ("Todos:\n  1. Ask\n  2. Make", ("Ask", "Make")),
        ("Todos:\n1. 2**3 + 4**2 in __init__.py of my_big_file",
         ("2**3 + 4**2 in __init__.py of my_big_file",)),
        ("TODO列表:\n1. 计算**总和**并报告\n   - 用计算器\n2. **报告**结果",
         ("计算总和并报告\n- 用计算器", "报告结果")),
        ("TODO列表：\n**１、询问用户**\n  - 行数\n  - 列数\n**２、创建表格**",
         ("询问用户\n- 行数\n- 列数", "创建表格")),
        ("Decision: todos\n1. Ask\n2. Make", ("Ask", "Make")),
        ("决策：需要TODO工作流\n1. 询问\n2. 创建", ("询问", "创建")),
        ("Decision: no todos\n1. Ask\n2. Make", ()),
        ("决策：不需要TODO工作流\n1. 询问\n2. 创建", ()),
        ("Decision: simple\n1. Ask\n2. Make", ()),
        ("Todos:\nnone needed", ()),
        ("This is simple: 4.\n1. not a todo", ()),
        ("", ()),
    ],
)  # fmt: skip
def test_todos_of_a_decision(text: str, todos: tuple[str, ...]) -> None:
    assert parse_todos(text) == todos


def test_list_without_its_header_is_one_of_todos_only_if_it_repeats_the_task() -> None:
    answer = "1. Ask for the rows\n2. **Create** the file"

    assert parse_todos(answer, "Work so:\n1. Ask for the rows\n2. Create  the file") == (
        "Ask for the rows",
        "Create the file",
    )
    assert parse_todos(answer, "Which two steps make a table?") == ()


@for_each("text, completion",
    [
        ("0.3", 0.3), ("０．３", 0.3), ("30%", 0.3), ("30％", 0.3), ("3/10", 0.3), ("30", 0.3),
        ("[0.8]", 0.8), ("**0.5**（估计）", 0.5), ("约 0.5", 0.5), ("1", 1.0), ("已完成", 1.0),
        ("done.", 1.0), ("-0.5", 0.0), ("900%", 1.0), ("1/0", None), ("NaN", None), ("inf", None),
        ("", None), ("unknown", None), ("9" * 5000, 1.0),
    ],
)  # fmt: skip
def test_completion(text: str, completion: float | None) -> None:
    assert parse_completion(text) == completion


@for_each("text, report",
    [
        ("完成度评估: 0.5\n执行动作: [询问用户:什么?]\n下一步建议: 等待\n笔记: 已询问",
         StepReport(0.5, "[询问用户:什么?]", "等待", "已询问")),
        ("完成度评估：50％\n执行动作：无\n下一步建议：无。\n笔记：“无”", StepReport(0.5, note="“无”")),
        ("```\n**Completion**: 1/2\n- Action: None\n- Next step: n/a\n- Note: it is red\nand round\n```",
         StepReport(0.5, note="it is red\nand round")),
        ("completion: 1", StepReport(1.0)),
        ("Note: only this", StepReport(note="only this")),
        ("Action:\n[a:1]\n[b:2]\nNext step: c", StepReport(action="[a:1]\n[b:2]", next_step="c")),
        ("I have finished it.", None),
        ("", None),
    ],
)  # fmt: skip
def test_report_on_a_step(text: str, report: StepReport | None) -> None:
    assert parse_report(text) == report


EXCEL = ToolSpec("create_excel", "", {
    "type": "object",
    "properties": {"filename": {"type": "string"}, "data": {"type": "array"}},
})  # fmt: skip
DATA = [{"a": "x:y]"}, {"a": 2}]


@for_each(
    "text",
    [
        f"[create_excel:t.xlsx:{json.dumps(DATA)}]",
        f"[create_excel：t.xlsx：{json.dumps(DATA)}]",
        f"create_excel(filename='t.xlsx', data={json.dumps(DATA)})",
        f'create_excel("t.xlsx", {json.dumps(DATA)})',
        "create_excel(" + json.dumps({"filename": "t.xlsx", "data": DATA}) + ")",
        json.dumps({"name": "create_excel", "arguments": {"filename": "t.xlsx", "data": DATA}}),
        json.dumps([{"function": "create_excel", "params": {"filename": "t.xlsx", "data": DATA}}]),
        json.dumps({"action": "create_excel", "filename": "t.xlsx", "data": DATA}),
    ],
)
def test_action_in_each_form(text: str) -> None:
    [action] = parse_actions(text)

    assert action.name == "create_excel"
    assert json.loads(build_arguments(action, EXCEL)) == {"filename": "t.xlsx", "data": DATA}


def test_several_actions_a_url_and_a_merged_name() -> None:
    spec = ToolSpec(
        "get", "", {"properties": {"url": {"type": "string"}, "n": {"type": "integer"}}}
    )
    first, second, third = parse_actions(
        "[get:https://a.example/x:3], [询问用户:几点？a：b] desktop.create_word()"
    )

    assert json.loads(build_arguments(first, spec)) == {"url": "https://a.example/x", "n": 3}
    assert second.is_question
    assert second.question == "几点？a：b"
    assert third.name == "desktop.create_word"
    assert parse_actions("ask_the_person(question='Why?')")[0].question == "Why?"


@pytest.mark.parametrize(
    "text", ["[create", "run the thing", "[[[[", "f(((", '{"a": 1}', "[]", "((("]
)
def test_action_that_cannot_be_read_is_an_error_for_the_model(text: str) -> None:
    assert parse_actions(text)[0].error


@pytest.mark.parametrize(
    "text",
    ["[" * 50_000, "{" * 50_000, "[{" * 25_000, "[{}]" * 12_000, "a" * 50_000, "a(" * 25_000,
     "完成度评估:" * 10_000, "1. x\n" * 10_000, '"\\' * 25_000, "(" * 10_000 + ")" * 10_000,
     "[" * 10_000 + "]" * 10_000, "[{" * 5_000 + "}]" * 5_000, "9" * 50_000,
     "*a " * 16_000, "**a " * 12_000, "1. **a\n" * 7_000, "_a _b" * 10_000, "**" * 25_000],
)  # fmt: skip
@pytest.mark.timed  # regular expressions can't be counted
def test_hostile_answer_is_read_in_linear_time(text: str) -> None:
    with limit_cpu(1.5):
        parse_actions(text)
        parse_report(text)
        parse_report(f"Action: {text}")
        parse_completion(text)

    assert len(parse_todos(f"Todos:\n{text}")) <= MAX_TODOS
