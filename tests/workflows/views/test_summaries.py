"""What a card says of its node in one line."""

import pytest

from tests.support.documents import node
from workflows.engine.nodes import build_kinds
from workflows.views.canvas.summaries import clip, clip_middle, label_handles, summarize_node


KINDS = build_kinds()


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
