"""What a card says of its node in one line."""

from typing import Any

import pytest

from tests.support.documents import node
from workflows.engine.nodes import build_kinds
from workflows.views.canvas.summaries import clip, clip_middle, label_handles, summarize_node


KINDS = build_kinds()
TOOL = {"source": "builtin", "name": "time"}


def test_variable_in_a_line_goes_by_its_own_name():
    spec = node("a", "answer", answer="Well: {{#llm_d9a7.text#}} of {{#sys.user_id#}}, {{ x }}")

    assert summarize_node(spec, KINDS) == "Well: {text} of {user_id}, {{ x }}"


@pytest.mark.parametrize(
    ("message", "line"),
    [
        (
            "**A customer asks** for `a refund`: {{#llm.text#}}",
            "A customer asks for a refund: {text}",
        ),
        ("## Refund\n\n- see [the order](https://example.com/1)", "Refund see the order"),
        (
            "2 * 3 * 4 of snake_case and {{#start.__name__#}}",
            "2 * 3 * 4 of snake_case and {__name__}",
        ),
    ],
)
def test_markdown_of_a_message_is_plain_text_in_a_line(message: str, line: str):
    spec = node("a", "human-input", form_content=message)

    assert clip(summarize_node(spec, KINDS), 200) == line


def test_branches_of_a_classifier_go_by_the_names_of_their_classes():
    classes = [{"id": "1", "name": "About {{#start.topic#}}"}, {"id": "2", "name": ""}]
    spec = node("a", "question-classifier", classes=classes, default_branch=True)

    labels = label_handles(spec, KINDS, ("1", "2", "default"))

    assert [label.text or label.word for label in labels] == [
        "About {topic}",
        "Class 2",
        "Otherwise",
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("dialogue_count = 1", "dialogue_count = 1"),
        ("dialogue_count_of_the_day = 1", "dialogue_count…_the_day = 1"),
        ("dialogue_count_of_the_day = 2", "dialogue_count…_the_day = 2"),
        ("这个对话里的问题的总数量加起来 = 1", "这个对话里的问…量加起来 = 1"),
    ],
)
def test_long_condition_keeps_its_end(text: str, line: str):
    assert clip_middle(text, 27) == line


@pytest.mark.parametrize(
    ("kind", "data", "one", "many"),
    [
        ("agent", ("tools", [[TOOL], [TOOL, TOOL]]), "1 tool", "2 tools"),
        ("loop", ("loop_count", [1, 3]), "max 1 round", "max 3 rounds"),
        ("delay", ("amount", [1, 2]), "1 hour", "2 hours"),
        ("conversation-memory", ("max_turns", [1, 4]), "last turn", "last 4 turns"),
    ],
)
def test_number_and_noun_agree_in_a_line(
    kind: str, data: tuple[str, list[Any]], one: str, many: str
):
    others = {"unit": "hours", "strategy": "sliding_window"} if kind != "agent" else {}
    name, values = data

    lines = [summarize_node(node("n", kind, **others, **{name: value}), KINDS) for value in values]

    parts = [line.split(" · ") for line in lines]
    assert [one in parts[0], many in parts[1]] == [True, True]


def test_tools_of_memory_are_not_counted_since_the_card_has_a_mark_for_them():
    memory = {"recall": ["user"], "remember": ["user"]}

    line = summarize_node(node("n", "agent", tools=[TOOL], memory_tools=memory), KINDS)

    assert "1 tool" in line.split(" · ")
