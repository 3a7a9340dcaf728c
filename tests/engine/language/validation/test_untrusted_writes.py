"""What a workflow would have wait for a review is said while it is drawn."""

import itertools
from typing import Any

from tests.support.cases import for_each
from tests.support.documents import document, end, llm, node, start
from workflows.engine.language.problems import Severity
from workflows.engine.language.validation import validate, validate_node
from workflows.engine.nodes import build_kinds


KINDS = build_kinds()
WEB = node("web", "http-request", method="get", url="http://x.test")


def store(value: list[str], scope: str = "user", **data: Any) -> Any:
    return node("keep", "memory-store", scope=scope, key="k", value_selector=value, **data)


def page(**data: Any) -> Any:
    given = {"scope": "global", "page_title": "Tea", "page_content": "{{#web.body#}}", **data}
    return node("keep", "knowledge-write", **given)


def warned(*nodes: Any) -> list[tuple[str | None, str | None, str]]:
    made = [start("q"), *nodes, end()]
    edges = [f"{a.id} -> {b.id}" for a, b in itertools.pairwise(made)]
    drawn = document(made, edges)
    found = [one for one in validate(drawn, KINDS) if one.code == "memory.waits"]
    assert all(one.severity is Severity.WARNING for one in found)
    shown = [one for one in validate_node(drawn, KINDS, "keep") if one.code == "memory.waits"]
    assert shown == found
    return [(one.node, one.field, one.message.split(" ")[0]) for one in found]


WAITS = [("keep", "trusts_outside", "web")]
CASES = [
    ("a body", [WEB, store(["web", "body"])], WAITS),
    ("a model's words about it", [WEB, llm("say", ("user", "{{#web.body#}}")),
                                  store(["say", "text"])], WAITS),
    ("its metadata", [WEB, store(["start", "q"], metadata_selectors={"a": ["web", "body"]})], WAITS),
    ("its key", [WEB, node("keep", "memory-store", scope="user", key="{{#web.body#}}",
                           value_selector=["start", "q"])], WAITS),
    ("a page", [WEB, page()], WAITS),
    ("everybody's", [WEB, store(["web", "body"], "global")], WAITS),
    ("what the person said", [WEB, store(["start", "q"])], []),
    ("the conversation's own", [WEB, store(["web", "body"], "conversation")], []),
    ("an author who trusts it", [WEB, store(["web", "body"], trusts_outside=True)], []),
    ("a page by such an author", [WEB, page(trusts_outside=True)], []),
    ("what waits anyway", [WEB, store(["web", "body"], tier="quarantine")], []),
    ("a draft that isn't finished", [WEB, node("keep", "memory-store", scope="user")], []),
]  # fmt: skip


@for_each("name, nodes, expected", CASES, ids=[case[0] for case in CASES])
def test_node_that_keeps_words_from_outside_is_warned_of(
    name: str, nodes: list[Any], expected: list[Any]
) -> None:
    assert warned(*nodes) == expected


def test_warning_names_the_node_the_words_come_from() -> None:
    other = node("a-feed", "http-request", method="get", url="http://y.test")

    assert warned(other, WEB, store(["web", "body"])) == WAITS
