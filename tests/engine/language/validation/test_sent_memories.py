"""A workflow that sends outside what a model wrote about memories and a page is warned of while it is drawn."""

import itertools
from typing import Any

from tests.support.cases import for_each
from tests.support.documents import document, end, llm, node, start
from workflows.engine.language.problems import Severity
from workflows.engine.language.validation import validate, validate_node
from workflows.engine.nodes import build_kinds


KINDS = build_kinds()
MEMORY = {"enhanced_memory": {"enabled": True, "scope": "user"}}
WEB = node("web", "http-request", method="get", url="http://x.test")
RECALL = node("recall", "memory-recall", scope="user", query="{{#start.q#}}")
READS = llm("say", ("user", "{{#web.body#}}"), **MEMORY)
CHECK = node("check", "human-input", form_content="{{#say.text#}}")


def send(text: str = "{{#say.text#}}") -> Any:
    return node("send", "http-request", method="get", url=f"http://y.test/?q={text}")


def call(source: str, name: str) -> Any:
    provider = "" if source == "builtin" else "desk"
    reference = {"provider_type": source, "provider_id": provider, "tool_name": name}
    value = {"type": "mixed", "value": "{{#say.text#}}"}
    return node("send", "tool", **reference, tool_parameters={"query": value})


def run_code(source: str) -> Any:
    inputs = [{"variable": "text", "value_selector": ["say", "text"]}]
    return node("send", "code", code=source, code_language="python3", variables=inputs)


def warned(*nodes: Any) -> list[str]:
    made = [start("q"), *nodes, end()]
    edges = [f"{a.id} -> {b.id}" for a, b in itertools.pairwise(made)]
    drawn = document(made, edges)
    problems = [problem for problem in validate(drawn, KINDS) if problem.code == "memory.sent"]
    assert all(problem.severity is Severity.WARNING for problem in problems)
    alone = [each for each in validate_node(drawn, KINDS, "send") if each.code == "memory.sent"]
    assert alone == problems
    return [f"{problem.node}: {problem.message.split(' ')[0]}" for problem in problems]


CASES = [
    ("an address", [WEB, READS, send()], ["send: say"]),
    ("what recall gave the model", [WEB, RECALL, llm("say", ("user", "{{#web.body#}}{{#recall.text#}}")),
                                    send()], ["send: say"]),
    ("a second model's words about it", [WEB, READS, llm("short", ("user", "{{#say.text#}}")),
                                         send("{{#short.text#}}")], ["send: say"]),
    ("code with requests", [WEB, READS, run_code("import requests")], ["send: say"]),
    ("code without", [WEB, READS, run_code("def main(text): return {}")], []),
    ("words that nobody sends", [WEB, READS, send("tea")], []),
    ("a model without memory", [WEB, llm("say", ("user", "{{#web.body#}}")), send()], []),
    ("a model that reads no page", [WEB, llm("say", ("user", "{{#start.q#}}"), **MEMORY), send()], []),
    ("a person in between", [WEB, READS, CHECK, send()], []),
    ("a person too early", [WEB, node("check", "human-input", form_content="Go on?"), READS, send()],
     ["send: say"]),
]  # fmt: skip


@for_each("name, nodes, expected", CASES, ids=[case[0] for case in CASES])
def test_node_that_may_send_memories_is_warned_of(
    name: str, nodes: list[Any], expected: list[str]
) -> None:
    assert warned(*nodes) == expected


@for_each(
    "source, name, expected",
    [
        ("api", "search", ["send: say"]),
        ("mcp", "search", ["send: say"]),
        ("builtin", "web_page", ["send: say"]),
        ("builtin", "calculator", []),
        ("builtin", "no_such_tool", []),
        ("workflow", "desk", []),
    ],
)
def test_tool_is_warned_of_where_its_arguments_go_to_strangers(
    source: str, name: str, expected: list[str]
) -> None:
    assert warned(WEB, READS, call(source, name)) == expected
