"""Whatever the engine finds wrong is said in the reader's language, by a sentence or at least by its code."""

import re
from pathlib import Path

from django.utils import translation

from tests.support.cases import for_each
from tests.support.documents import document, node, start
from workflows.engine.language.document import Mode
from workflows.engine.language.problems import Problem
from workflows.engine.language.validation import validate
from workflows.engine.nodes import build_kinds
from workflows.templatetags.problem_sentences import SENTENCES, translate_message
from workflows.templatetags.problems import SENTENCES_BY_CODE, describe_problem
from workflows.templatetags.run_errors import translate_error


ENGINE = Path(__file__).parents[2] / "workflows" / "engine"
CODES = {
    found[1]
    for path in ENGINE.rglob("*.py")
    for found in re.finditer(
        r"\b(?:Problem|build_warning)\(\s*\"([a-z]+\.[a-z_]+)\"", path.read_text()
    )
} | {"mode.no_answer", "mode.no_end", "mode.answer", "mode.end"}


def chinese(message: str, code: str = "some.code") -> str:
    with translation.override("zh-hans"):
        return describe_problem(Problem(code, message))


@for_each("code", sorted(CODES))
def test_every_code_of_the_engine_has_words(code):
    assert code in SENTENCES_BY_CODE


@for_each("sentence", SENTENCES)
def test_every_sentence_is_read_back_and_said_in_chinese(sentence):
    said = re.sub(r"%\((\w+)\)s", r"x\1", sentence)

    shown = chinese(said)

    assert shown != said
    assert not shown.isascii()
    assert all(
        f"x{name}" in shown for name in re.findall(r"%\((\w+)\)s", sentence) if name != "again"
    )


def test_sentence_that_is_not_known_has_no_translation():
    assert translate_message("Nothing like it") == ""


def test_field_without_a_value_is_named_in_a_plain_sentence():
    one, two = "Topic is required in input form", "Size is required in input form"

    shown = [
        describe_problem(Problem("input.invalid", one)),
        translate_error(f"{one}; colour is not an input of T; {two}"),
        translate_error("The model did not respond."),
    ]

    assert shown == [
        "Enter a value for “Topic”",
        "Enter a value for “Topic”, “Size”; colour is not an input of T",
        "The model did not respond.",
    ]
    assert chinese(one) == "请填写“Topic”"


def test_field_goes_by_its_label_in_the_readers_language():
    assert chinese("List is missing") == "缺少“列表”"


def test_setting_pydantic_alone_knows_about_keeps_its_details():
    assert chinese("Key: odd", "config.odd") == "设置无效 (Key: odd)"


def test_problems_of_a_first_draft_hold_no_english():
    drawn = document(
        [start("q"), node("i", "iteration"), node("a", "answer", answer="{{#i.no#}} {{#no.no#}}")],
        ["start -> i", "i -> a"],
        mode=Mode.CHAT,
    )
    found = validate(drawn, build_kinds())

    assert len(found) > 2
    for problem in found:
        words = chinese(problem.message, problem.code)
        assert not re.search(r"[a-z]{4,}", words), words
