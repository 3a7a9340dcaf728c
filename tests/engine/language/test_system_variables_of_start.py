"""Dify names system variables as outputs of the start node too, in selectors and in texts; all forms read the same."""

import pytest

from tests.support.documents import answer, document, end, iteration, node, start, template
from tests.support.engine import run_plan
from workflows.engine.language.document import Dialect, Mode
from workflows.engine.language.dsl import build_tree, load_document
from workflows.engine.language.validation import validate
from workflows.engine.nodes import build_kinds


KINDS = build_kinds()
TEXT = "{{#start.sys.query#}}|{{#sys.query#}}|{{#start.sys.files#}}"


@pytest.mark.asyncio
async def test_answer_prints_the_message_under_its_name_as_an_output_of_start():
    said = document([start(), answer("a", TEXT)], ["start -> a"], mode=Mode.CHAT)

    result = await run_plan(said, system={"query": "hi", "files": []})

    assert result.outputs["answer"] == "hi|hi|"
    assert validate(said, KINDS) == []


@pytest.mark.asyncio
async def test_three_part_selector_reads_a_system_variable():
    drawn = document(
        [start(), template("t", "{{ q }}", q=["start", "sys", "query"]), end(o=["t", "output"])],
        ["start -> t", "t -> end"],
        mode=Mode.CHAT,
    )

    result = await run_plan(drawn, system={"query": "hi"})

    assert result.outputs == {"o": "hi"}


@pytest.mark.asyncio
async def test_output_that_a_node_calls_sys_comes_first():
    code = {"type": "object", "sys": {"type": "object"}}
    made = node("c", "code", code_language="python3", code="def main(): ...", outputs=code)
    drawn = document(
        [start(), made, answer("a", "{{#c.sys.query#}}")], ["start -> c", "c -> a"], mode=Mode.CHAT
    )

    result = await run_plan(
        drawn, system={"query": "hi"}, mocks={"c": {"outputs": {"sys": {"query": "own"}}}}
    )

    assert result.outputs["answer"] == "own"


@pytest.mark.parametrize("name", ["query", "files"])
@pytest.mark.parametrize("text", ["{{#start.sys.%s#}}", "{{#sys.%s#}}"])
def test_text_with_a_system_variable_has_no_problem(name, text):
    said = document([start(), answer("a", text % name)], ["start -> a"], mode=Mode.CHAT)

    assert validate(said, KINDS) == []


def test_unknown_system_variable_of_start_is_a_problem():
    said = document([start(), answer("a", "{{#start.sys.no#}}")], ["start -> a"], mode=Mode.CHAT)

    assert [each.code for each in validate(said, KINDS)] == ["reference.unknown_variable"]


@pytest.mark.parametrize("selector", [["start", "sys.user_id"], ["start", "sys", "user_id"]])
def test_type_of_a_system_variable_of_start_is_known(selector):
    drawn = document(
        [start(), iteration("i", selector, None), end()], ["start -> i", "i -> end"], mode=Mode.CHAT
    )

    codes = [each.code for each in validate(drawn, KINDS)]
    assert "reference.not_a_list" in codes


@pytest.mark.parametrize("dialect", Dialect)
def test_text_with_a_system_variable_of_start_is_written_as_it_was_read(dialect):
    said = document([start(), answer("a", TEXT)], ["start -> a"], mode=Mode.CHAT)

    again = load_document(build_tree(said, dialect)).document

    assert [each.data["answer"] for each in again.nodes if each.id == "a"] == [TEXT]
