"""Problems of documents, in the reader's language and never without their details."""

import pytest
from django.template import Context, Template
from django.urls import reverse
from django.utils import translation

from tests.factories.workflows import document, make_workflow
from tests.support.cases import for_each
from tests.support.markup import markup_of
from workflows.engine.language.problems import Problem
from workflows.templatetags.problems import (
    SENTENCES_BY_CODE,
    describe_problem,
    get_node_title,
    replace_ids_by_titles,
)


CIRCLE = Problem("graph.cycle", "The nodes form a cycle: a, b", node="a")


@pytest.mark.parametrize(
    ("language", "problem", "expected"),
    [
        ("en", CIRCLE, "The nodes form a cycle: a, b"),
        ("zh-hans", CIRCLE, "节点形成环路 (The nodes form a cycle: a, b)"),
        ("zh-hans", Problem("plugin.odd", "Odd: 7"), "Odd: 7"),
    ],
)
def test_problem_is_said_in_the_language_with_its_details(language, problem, expected):
    with translation.override(language):
        shown = Template("{% load problems %}{{ problem|describe_problem }}").render(
            Context({"problem": problem})
        )

    assert shown == expected


@for_each("code", sorted(SENTENCES_BY_CODE))
def test_every_sentence_is_another_one_in_chinese(code):
    problem = Problem(code, "details")

    with translation.override("zh-hans"):
        assert describe_problem(problem) == f"{SENTENCES_BY_CODE[code]} (details)"
        assert str(SENTENCES_BY_CODE[code]).isascii() is False


TITLES = {"n3": "Think", "start": "Begin", "there": "Elsewhere"}


@for_each(
    "said, shown",
    [
        ("n3 has no output text", "Think has no output text"),
        (
            "start.b is unknown: there is no node m; did you mean n3.b?",
            "Begin › b is unknown: there is no node m; did you mean Think › b?",
        ),
        (
            "n3.x is not available yet: n3 doesn't run before this node",
            "Think › x is not available yet: Think doesn't run before this node",
        ),
        (
            "一个变量 (n3 has no output text; did you mean n3.b?)",
            "一个变量 (Think has no output text; did you mean Think › b?)",
        ),
        ("“n3.text” 不存在：没有 “there”", "“Think › text” 不存在：没有 “Elsewhere”"),
        ("The nodes form a cycle: start, n3", "The nodes form a cycle: Begin, Think"),
        ("It is not there, and start is a word", "It is not there, and start is a word"),
        ("sys.query is 3.14 long", "sys.query is 3.14 long"),
    ],
)
def test_nodes_in_a_sentence_go_by_their_titles(said: str, shown: str):
    assert replace_ids_by_titles(said, TITLES) == shown


def test_node_that_is_not_there_keeps_its_id():
    assert (get_node_title("n3", TITLES), get_node_title("gone", TITLES)) == ("Think", "gone")


@pytest.mark.django_db
def test_list_of_problems_names_nodes_as_people_do(alice):
    source = document()
    source["nodes"][-1]["data"] |= {
        "title": "Finish",
        "outputs": [{"variable": "said", "value_selector": ["start", "nowhere"]}],
    }
    source["nodes"][0]["data"]["title"] = "Begin"
    workflow = make_workflow(alice, source=source)

    page = markup_of(alice.client.get(reverse("workflows:problems", args=[workflow.pk])))
    whole = markup_of(alice.client.get(reverse("workflows:detail", args=[workflow.pk])))

    for html in (page, whole):
        assert '<b class="clip">Finish</b>' in html
        assert "Begin has no output nowhere" in html
