"""The pieces of random workflows: nodes of every kind that text can travel through, and what is around them."""

from collections.abc import Mapping
from typing import Any, Final

from tests.engine.language.two_worlds.writer import (
    MAX_DEPTH,
    Ends,
    Piece,
    Scope,
    Writer,
    write_called,
)
from tests.support.documents import (
    answer,
    branch,
    change,
    end,
    iteration,
    llm,
    loop,
    node,
    template,
)
from workflows.engine.language.document import NodeSpec


WORDS: Final = ("alpha", "beta", "mine", "yes", "no", "", "turn 0", "turn 1")
MODEL: Final = {"provider": "offline", "name": "offline", "mode": "chat"}
WINDOW: Final = {"memory": {"window": {"enabled": False}}}


def read_page(writer: Writer, scope: Scope, ends: Ends) -> Ends:
    kind, strategy = writer.chance.choice(["page", "report"]), writer.choose_strategy()
    made = node(writer.name("page"), kind, **strategy)
    ends = writer.add_with_failure(made, scope, ends)
    scope.texts.append((made.id, "text"))
    scope.lists.append((made.id, "list"))
    if strategy:
        scope.texts.append((made.id, "error_type"))
    return ends


def render(writer: Writer, scope: Scope, ends: Ends) -> Ends:
    texts = ("{{ a }}", "{{ a }}{{ b }}", "{% if a == 'alpha' %}yes{% else %}no{% endif %}")
    variables = {"a": writer.choose_text(scope), "b": writer.choose_text(scope)}
    return add_text(
        writer,
        scope,
        ends,
        template(writer.name("t"), writer.chance.choice(texts), **variables),
        "output",
    )


def ask_model(writer: Writer, scope: Scope, ends: Ends) -> Ends:
    window = WINDOW if writer.is_chat and writer.happens(0.3) else {}
    made = llm(writer.name("m"), ("user", writer.refer(scope)), **window)
    return add_text(writer, scope, ends, made, "text")


def ask_agent(writer: Writer, scope: Scope, ends: Ends) -> Ends:
    """An agent that may read a page, and may remember and forget."""
    window = {"memory": {"enabled": True}} if writer.is_chat and writer.happens(0.4) else {}
    tools = [{"source": "builtin", "name": "fetch"}] if writer.happens(0.7) else []
    made = node(writer.name("ag"), "agent", model=MODEL, query=writer.refer(scope), tools=tools,
                memory_tools={"remember": ["user"], "forget": ["user"]}, **window)  # fmt: skip
    return add_text(writer, scope, ends, made, "text")


def extract(writer: Writer, scope: Scope, ends: Ends) -> Ends:
    parameter = {"name": "value", "type": "string", "required": False, "description": "x"}
    made = node(writer.name("e"), "parameter-extractor", model=MODEL, parameters=[parameter],
                query=writer.choose_text(scope), reasoning_mode="prompt")  # fmt: skip
    return add_text(writer, scope, ends, made, "value")


def aggregate(writer: Writer, scope: Scope, ends: Ends) -> Ends:
    variables = [writer.choose_text(scope), writer.choose_text(scope)]
    made = node(writer.name("v"), "variable-aggregator", variables=variables, output_type="string")
    return add_text(writer, scope, ends, made, "output")


def filter_list(writer: Writer, scope: Scope, ends: Ends) -> Ends:
    condition = {"key": "", "comparison_operator": "contains", "value": writer.refer(scope)}
    settings = {
        "filter_by": {"enabled": writer.happens(0.5), "conditions": [condition]},
        "limit": {"enabled": writer.happens(0.5), "size": 1},
    }
    made = node(writer.name("l"), "list-operator", variable=writer.choose_list(scope), **settings)
    scope.lists.append((made.id, "result"))
    return add_text(writer, scope, ends, made, "first_record")


def compute(writer: Writer, scope: Scope, ends: Ends) -> Ends:
    made = node(writer.name("code"), "code", code_language="python3",
                code="def main(inputs):\n    x = str(inputs['x'])\n    return {'out': x[::-1], 'list': [x]}",
                variables=[{"variable": "x", "value_selector": writer.choose_text(scope)}],
                outputs={"out": {"type": "string"}, "list": {"type": "array[string]"}})  # fmt: skip
    scope.lists.append((made.id, "list"))
    return add_text(writer, scope, ends, made, "out")


def assign(writer: Writer, scope: Scope, ends: Ends) -> Ends:
    targets = [("conversation", "note"), ("conversation", "flag")] if writer.is_chat else []
    targets += scope.loop_variables
    if not targets:
        return ends
    value: Any = writer.choose_text(scope) if writer.happens(0.6) else writer.chance.choice(WORDS)
    target = [*writer.chance.choice(targets)]
    return writer.add(change(writer.name("a"), target, "over-write", value), scope, ends)


def store(writer: Writer, scope: Scope, ends: Ends) -> Ends:
    key = writer.refer(scope) if writer.happens(0.1) else writer.name("k")
    value = writer.choose_text(scope) if writer.happens(0.5) else ["start", "own"]
    where = writer.chance.choice(["user", "user", "conversation"]) if writer.is_chat else "user"
    made = node(writer.name("s"), "memory-store", scope=where, key=key, value_selector=value)
    return writer.add(made, scope, ends)


def write_page(writer: Writer, scope: Scope, ends: Ends) -> Ends:
    content = writer.refer(scope) if writer.happens(0.5) else "mine"
    made = node(
        writer.name("w"),
        "knowledge-write",
        scope="global",
        page_title=writer.name("P"),
        page_content=content,
    )
    return writer.add(made, scope, ends)


def forget(writer: Writer, scope: Scope, ends: Ends) -> Ends:
    key = writer.chance.choice(["own1", "own2", writer.refer(scope)])
    return writer.add(node(writer.name("d"), "memory-delete", scope="user", key=key), scope, ends)


def append_message(writer: Writer, scope: Scope, ends: Ends) -> Ends:
    message = {"role": "user", "text": writer.refer(scope)}
    made = node(writer.name("h"), "conversation-memory", action="append", messages=[message])
    return writer.add(made, scope, ends)


def read_messages(writer: Writer, scope: Scope, ends: Ends) -> Ends:
    made = node(writer.name("h"), "conversation-memory", action="read")
    return add_text(writer, scope, ends, made, "text")


def recall(writer: Writer, scope: Scope, ends: Ends) -> Ends:
    made = node(
        writer.name("r"), "memory-recall", scope="user", query_selector=writer.choose_text(scope)
    )
    return add_text(writer, scope, ends, made, "context")


def decide(writer: Writer, scope: Scope, ends: Ends) -> Ends:
    made = branch(writer.name("if"), writer.choose_text(scope), writer.chance.choice(WORDS))
    return add_branches(writer, scope, ends, made, "true", "false")


def classify(writer: Writer, scope: Scope, ends: Ends) -> Ends:
    window = WINDOW if writer.is_chat and writer.happens(0.4) else {}
    classes = [{"id": "1", "name": "first"}, {"id": "2", "name": "second"}]
    made = node(writer.name("q"), "question-classifier", model=MODEL, classes=classes,
                query_variable_selector=writer.choose_text(scope), **window)  # fmt: skip
    return add_branches(writer, scope, ends, made, "1", "2")


def ask_person(writer: Writer, scope: Scope, ends: Ends) -> Ends:
    if writer.depth or not writer.is_chat:
        return ends
    default = {"type": "variable", "selector": writer.choose_text(scope), "value": ""}
    made = node(writer.name("p"), "human-input", form_content="Is that so?",
                inputs=[{"type": "text_input", "output_variable_name": "said", "default": default}],
                user_actions=[{"id": "yes", "title": "Yes"}, {"id": "no", "title": "No"}])  # fmt: skip
    return add_branches(writer, scope, ends, made, "yes", "no")


def iterate(writer: Writer, scope: Scope, ends: Ends) -> Ends:
    if writer.depth >= MAX_DEPTH:
        return ends
    name = writer.name("it")
    inner = scope.copy(name, [(name, "item")])
    writer.write_body(inner, name)
    body = {made.id for made in writer.nodes if made.parent == name}
    results = [text for text in inner.texts if text[0] in body] or [(name, "item")]
    modes = ["terminated", "continue-on-error", "remove-abnormal-output"]
    made = iteration(name, writer.choose_list(scope), [*writer.chance.choice(results)],
                     error_handle_mode=writer.chance.choice(modes),
                     is_parallel=writer.happens(0.3), **writer.choose_strategy())  # fmt: skip
    scope.lists.append((name, "output"))
    return writer.add_container(made, scope, ends)


def operate(writer: Writer, scope: Scope, ends: Ends) -> Ends:
    """A list operation of xworkflow, whose rounds end with an End."""
    if writer.depth >= MAX_DEPTH:
        return ends
    name, operation = writer.name("op"), writer.chance.choice(["map", "filter", "reduce"])
    given = ["accumulator"] if operation == "reduce" else []
    inner = scope.copy(name, [("__scope__", each) for each in ("item", *given)])
    output = "keep" if operation == "filter" else "value"
    add_end(writer, inner, writer.write_body(inner, name), **{output: writer.choose_text(inner)})
    modes = ["terminated", "continue-on-error"]
    made = node(name, "iteration", iterator_selector=writer.choose_list(scope), operation=operation,
                initial_value="zero", output_variable="all",
                error_handle_mode=writer.chance.choice(modes), **writer.choose_strategy())  # fmt: skip
    scope.texts.append((name, "all"))
    return writer.add_container(made, scope, ends)


def repeat(writer: Writer, scope: Scope, ends: Ends) -> Ends:
    if writer.depth >= MAX_DEPTH:
        return ends
    name = writer.name("lo")
    inner = scope.copy(name, [(name, "x"), (name, "y")])
    inner.loop_variables = [(name, "x"), (name, "y")]
    behind = writer.write_body(inner, name)
    if writer.happens(0.3):
        choice = branch(writer.name("if"), writer.choose_text(inner), writer.chance.choice(WORDS))
        writer.add(choice, inner, behind)
        writer.add(node(writer.name("stop"), "loop-end"), inner, [f"{choice.id}:true"])
        writer.write(inner, [f"{choice.id}:false"], writer.chance.randint(0, 2))
    stops = [("x", "is", writer.chance.choice(WORDS))] if writer.happens(0.5) else []
    variables: Mapping[str, tuple[str, Any]] = {
        "x": ("string", tuple(writer.choose_text(scope))),
        "y": ("string", "no"),
    }
    made = loop(name, writer.chance.randint(1, 3), variables, stops, **writer.choose_strategy())
    ends = writer.add_container(made, scope, ends)
    scope.texts += [(name, "x"), (name, "y")]
    return ends


def repeat_while(writer: Writer, scope: Scope, ends: Ends) -> Ends:
    """A loop of xworkflow, whose rounds end with an End."""
    if writer.depth >= MAX_DEPTH:
        return ends
    name = writer.name("wh")
    inner = scope.copy(name, [("loop", "note"), (name, "note")])
    behind = writer.write_body(inner, name)
    counted = ["__scope__", "_iteration"]
    add_end(writer, inner, behind, note=writer.choose_text(inner), n=counted)
    conditions = [
        {"variable_selector": [name, "note"], "comparison_operator": "is not", "value": writer.chance.choice(WORDS)},
        {"variable_selector": [name, "n"], "comparison_operator": "<", "value": "2"},
    ]  # fmt: skip
    made = node(name, "loop", condition=writer.chance.choice(conditions), max_iterations=4,
                initial_vars={"note": "none", "n": 0}, **writer.choose_strategy())  # fmt: skip
    ends = writer.add_container(made, scope, ends)
    scope.texts += [(name, "output"), (name, "iterations")]
    return ends


def do_both(writer: Writer, scope: Scope, ends: Ends) -> Ends:
    ways = [writer.write(scope.copy(), ends, writer.chance.randint(1, 2)) for _ in range(2)]
    return [*dict.fromkeys(ways[0] + ways[1])]


def call_workflow(writer: Writer, scope: Scope, ends: Ends) -> Ends:
    if writer.depth >= MAX_DEPTH or not writer.is_chat:
        return ends
    slug, called = write_called(writer)
    writer.workflows[slug] = called
    inputs = {"own": ["start", "own"], "given": writer.choose_text(scope)}
    made = node(writer.name("sub"), "sub-workflow", workflow=slug, inputs=inputs,
                outputs=[{"variable": "out", "value_type": "string"}], **writer.choose_strategy())  # fmt: skip
    ends = writer.add_with_failure(made, scope, ends)
    scope.texts.append((made.id, "out"))
    return ends


def say(writer: Writer, scope: Scope, ends: Ends) -> Ends:
    if not writer.is_chat:
        return ends
    text = writer.chance.choice(["Hello", writer.refer(scope)])
    return writer.add(answer(writer.name("say"), text), scope, ends)


def add_text(writer: Writer, scope: Scope, ends: Ends, made: NodeSpec, output: str) -> Ends:
    scope.texts.append((made.id, output))
    return writer.add(made, scope, ends)


def add_branches(
    writer: Writer, scope: Scope, ends: Ends, made: NodeSpec, first: str, second: str
) -> Ends:
    """Add a branch with something behind its first handle, and perhaps something behind the second one."""
    writer.add(made, scope, ends)
    ways = [scope.copy(), scope.copy()]
    ends = writer.write(ways[0], [f"{made.id}:{first}"], writer.chance.randint(1, 3))
    ends += writer.write(ways[1], [f"{made.id}:{second}"], writer.chance.randint(0, 2))
    # What was made on one of the ways may be read behind them.
    made_there = [text for way in ways for text in way.texts if text not in scope.texts]
    scope.texts += made_there[:1] if writer.happens(0.3) else []
    return ends


def add_end(writer: Writer, scope: Scope, ends: Ends, **outputs: list[str]) -> None:
    """Add the End of a round, unless each of its ways has ended before."""
    if ends:
        writer.add(end(writer.name("end"), **outputs), scope, ends)


# Each piece with its weight.
PIECES: Final[Mapping[Piece, int]] = {
    ask_agent: 2, read_page: 4, render: 3, ask_model: 3, extract: 1, aggregate: 2, filter_list: 2, compute: 1,
    assign: 3, store: 7, write_page: 1, forget: 1, append_message: 1, read_messages: 1, recall: 1,
    decide: 4, classify: 2, ask_person: 1, iterate: 3, operate: 2, repeat: 3, repeat_while: 2,
    do_both: 1, call_workflow: 2, say: 2,
}  # fmt: skip
