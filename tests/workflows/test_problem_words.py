"""Problems of documents, in the reader's language and never without their details."""

import pytest
from django.template import Context, Template
from django.utils import translation

from workflows.engine.problems import Problem
from workflows.templatetags.problems import SENTENCES, in_words


CIRCLE = Problem("graph.cycle", "The nodes form a circle: a, b", node="a")


@pytest.mark.parametrize(
    ("language", "problem", "expected"),
    [
        ("en", CIRCLE, "The nodes form a circle: a, b"),
        ("zh-hans", CIRCLE, "节点之间形成了环路 (The nodes form a circle: a, b)"),
        ("zh-hans", Problem("plugin.odd", "Odd: 7"), "Odd: 7"),
    ],
)
def test_problem_is_said_in_the_language_with_its_details(language, problem, expected):
    with translation.override(language):
        shown = Template("{% load problems %}{{ problem|in_words }}").render(
            Context({"problem": problem})
        )

    assert shown == expected


@pytest.mark.parametrize("code", sorted(SENTENCES))
def test_every_sentence_is_another_one_in_chinese(code):
    problem = Problem(code, "details")

    with translation.override("zh-hans"):
        assert in_words(problem) == f"{SENTENCES[code]} (details)"
        assert str(SENTENCES[code]).isascii() is False
