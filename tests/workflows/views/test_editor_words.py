"""What the editor says in words: conditions on cards, and how long ago something was done."""

import re

import pytest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation

from tests.factories.workflows import make_run, make_version, make_workflow
from tests.support.cases import for_each
from tests.support.markup import markup_of, tidy
from workflows.engine.language.document import NodeSpec
from workflows.execution.kinds import load_kinds
from workflows.views.canvas.summaries import label_handles, summarize_node


@for_each(
    "operator, value, said",
    [
        ("end with", "?", "query ends with “?”"),
        ("start with", "Hi", "query starts with Hi"),
        ("starts_with", "Hi", "query starts with Hi"),
        ("contains", "cat", "query contains cat"),
        ("not contains", "cat", "query doesn't contain cat"),
        ("empty", "left over", "query is empty"),
        ("not null", "", "query is not null"),
        ("in", "a, b", "query is one of a, b"),
        (">", 2, "query > 2"),
        (">=", 2, "query ≥ 2"),
        ("of my own", "x", "query of my own x"),
    ],
)
def test_condition_reads_as_a_sentence_whatever_its_operator(operator, value, said):
    condition = {
        "variable_selector": ["sys", "query"],
        "comparison_operator": operator,
        "value": value,
    }
    node = NodeSpec("c", "if-else", {"cases": [{"case_id": "true", "conditions": [condition]}]})

    [way] = label_handles(node, load_kinds(), ["true"])

    assert way.text == said


@pytest.mark.parametrize(
    ("kind", "data", "said"),
    [
        ("variable-aggregator", {"variables": [["17000", "text"], ["17001", "text"]]}, "text"),
        ("variable-aggregator", {"variables": [["n1", "a"], ["n2", "b"]]}, "a, b"),
        ("iteration", {"iterator_selector": ["17000", "names"]}, "for each of names"),
        (
            "iteration",
            {"iterator_selector": []},
            "Iteration",
        ),
    ],
)
def test_card_names_variables_and_no_ids(kind, data, said):
    assert summarize_node(NodeSpec("c", kind, data), load_kinds()).startswith(said)


def test_card_titled_like_its_kind_says_what_the_kind_does():
    node = NodeSpec("c", "iteration", {"iterator_selector": []})

    summary = summarize_node(node, load_kinds(), title="Iteration")

    assert summary.startswith("Runs the nodes inside for each item")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("language", "said"), [("en", r"now|(a|\d+)\s\w+ ago"), ("zh-hans", r"现在|\d+\s*\w之前")]
)
def test_history_says_how_long_ago_with_the_day_at_hand(alice, language, said):
    workflow = make_workflow(alice)
    version = make_version(alice, workflow, note="First")

    with translation.override(language):
        html = render_to_string(
            "editor/history/_history.html",
            {"workflow": workflow, "versions": [version]},
        )

    [(title, words)] = re.findall(
        r'<time datetime="[^"]+" title="([^"]+)">([^<]+)</time>', tidy(html)
    )
    assert re.fullmatch(said, words)
    assert str(version.created_at.year) in title


@pytest.mark.django_db
def test_earlier_runs_are_compared_with_the_newest_from_the_list(alice):
    workflow = make_workflow(alice)
    older, newer = (make_run(alice, workflow, inputs={"text": text}) for text in ("a", "b"))

    html = markup_of(alice.client.get(reverse("workflows:run_list", args=[workflow.pk])))

    [link] = re.findall(r'href="([^"]+/compare/[^"]+)"', html)
    assert link == reverse("workflows:compare_runs", args=[older.pk, newer.pk])
