"""Nodes of every kind with settings that are missing, empty or of a wrong type: what is wrong is said in the form's words."""

import copy
import re
from collections.abc import Iterator
from typing import Any

from django.utils import translation

from tests.support.cases import for_each
from workflows.engine.kind_examples import build_example_data
from workflows.engine.language.document import Document, Mode, NodeSpec
from workflows.engine.language.problems import Problem
from workflows.engine.language.validation.configuration import find_configuration_problems
from workflows.engine.nodes import build_kinds
from workflows.templatetags.problem_sentences import translate_message
from workflows.templatetags.problems import describe_problem


KINDS = build_kinds()
DROPPED = object()
WRONG: tuple[Any, ...] = (DROPPED, None, "", 7, [], {}, [7], [{}], {"x": 1}, True)
# Keys of documents, names of Python's types and values.
RAW = re.compile(
    r"[a-z0-9]_[a-z]|tuple\[|\bdict\b|\bstr\b|\bTrue\b|\[key\]|[A-Z][a-z]+[A-Z]\w+ must|[{}']"
)
LOWER_STEP = re.compile(r"(?:^|› )[a-z][^›]*›|› [a-z]")


def iter_damaged(name: str) -> Iterator[dict[str, Any]]:
    kind = KINDS[name]
    whole = {
        **{f.name: copy.deepcopy(f.default) for f in kind.fields if f.default},
        **build_example_data(kind),
    }
    yield {"type": name}
    for field in kind.fields:
        for value in WRONG[1:]:
            yield {**whole, field.name: value}
    for path in iter_paths(whole, ()):
        for value in WRONG:
            data = copy.deepcopy(whole)
            holder = data
            for step in path[:-1]:
                holder = holder[step]
            if value is DROPPED:
                del holder[path[-1]]
            else:
                holder[path[-1]] = value
            yield {**data, "type": name}


def iter_paths(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    steps = (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for step in steps:
        yield (*path, step)
        yield from iter_paths(value[step], (*path, step))


def list_problems(name: str) -> list[Problem]:
    found: dict[str, Problem] = {}
    for data in iter_damaged(name):
        spec = NodeSpec("n", name, data)
        for problem in find_configuration_problems(Document(Mode.CHAT, (spec,), ()), KINDS):
            found.setdefault(problem.message, problem)
    return [*found.values()]


@for_each("name", sorted({kind.name for kind in KINDS.values()}))
def test_problems_of_a_half_made_node_are_said_in_the_words_of_its_form(name):
    for problem in list_problems(name):
        assert not RAW.search(problem.message), problem
        assert not LOWER_STEP.search(problem.message), problem
        with translation.override("zh-hans"):
            assert translate_message(problem.message), problem
            assert not re.search(r"[a-z]_[a-z]", describe_problem(problem)), problem


def find(name: str, **data: Any) -> list[tuple[str, str | None]]:
    spec = NodeSpec("n", name, {"type": name, **data})
    problems = find_configuration_problems(Document(Mode.CHAT, (spec,), ()), KINDS)
    return [(problem.message, problem.field) for problem in problems]


@for_each(
    "name, data, expected",
    [
        (
            "assigner",
            {"version": "2", "items": [{"operation": "over-write"}]},
            ("Assignment 1: choose a variable", "items.0.variable_selector"),
        ),
        (
            "assigner",
            {"version": "2", "items": [{"variable_selector": ["conversation", "a"], "value": []}]},
            ("Assignment 1 › Value: choose a variable", "items.0.value"),
        ),
        (
            "assigner",
            {
                "version": "2",
                "items": [
                    {
                        "variable_selector": ["conversation", "a"],
                        "operation": "set",
                        "input_type": "constant",
                    }
                ],
            },
            ("Assignment 1 › Value: enter a value", "items.0.value"),
        ),
        (
            "assigner",
            {"assigned_variable_selector": ["conversation", "a"], "write_mode": "append"},
            ("Assignment 1 › Value: choose a variable", "input_variable_selector"),
        ),
        ("http-request", {"url": None}, ("URL: enter a value", "url")),
        (
            "if-else",
            {"cases": [{"case_id": "true", "conditions": [{"comparison_operator": "is"}]}]},
            ("Case 1 › Condition 1: choose a variable", "cases.0.conditions.0.variable_selector"),
        ),
        (
            "code",
            {"code": "def main(): ...", "outputs": {"total": 7}},
            ("Output total is not valid", "outputs.total"),
        ),
        (
            "end",
            {"outputs": [{"variable": "o"}]},
            ("Output 1: choose a variable", "outputs.0.value_selector"),
        ),
    ],
)
def test_problem_names_the_field_and_what_to_do(name, data, expected):
    assert expected in find(name, **data)


def test_items_are_numbered_in_the_readers_language():
    [problem] = [
        each
        for each in find("end", outputs=[{"variable": "o"}])
        if each[1] == "outputs.0.value_selector"
    ]

    with translation.override("zh-hans"):
        assert translate_message(problem[0]) == "输出 1：请选择变量"
