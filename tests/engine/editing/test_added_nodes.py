"""Every node that the palette adds works at its place, unless somebody has to choose something first."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.engine.editing.gestures import KINDS, context
from tests.support.cases import for_each
from tests.support.engine import EchoModels, run_plan
from workflows.engine.editing import InMemoryStore, perform, read_ops
from workflows.engine.geometry import list_source_handles
from workflows.engine.kinds import AnyKind, Execution
from workflows.engine.language.document import Document, Mode, NodeSpec
from workflows.engine.language.problems import Problem
from workflows.engine.language.validation import validate
from workflows.engine.ports import CodeRequest, CodeResult
from workflows.engine.runtime.step_records import RunStatus


FORM = {
    "variables": [{"variable": "topic", "label": "Topic", "type": "paragraph", "required": True}]
}
# Kind → fields that only its author can fill in, so that a problem is listed until then.
CHOICES: dict[str, set[str | None]] = {
    "tool": {"tool_name"},
    "assigner": {"items"},
    "parameter-extractor": {"parameters"},
    "question-classifier": {"classes.0.name", "classes.1.name"},
    "sub-workflow": {"workflow"},
    "memory-delete": {None},
    # What comes from outside stays in quarantine, and the form says so.
    "knowledge-write": {"trusts_outside"},
    "http-request": {"url"},
    # There is no list or file that could be meant in front of every node.
    "iteration": {"iterator_selector"},
    "list-operator": {"variable"},
    "document-extractor": {"variable_selector"},
}
# Kinds that need no service outside, or a model only.
INSERTED = (
    "llm", "template-transform", "code", "variable-aggregator", "if-else", "loop"
)  # fmt: skip


# Nodes with a text, a list, files or memories of their own, and nodes that pass on what is before them.
BEFORE = ("llm", "code", "memory-recall", "http-request", "if-else", "human-input")


class KeywordCode:
    """Calls main as the product does, in the test's own process."""

    async def run(self, request: CodeRequest) -> CodeResult:
        names: dict[str, Any] = {}
        exec(request.source, names)
        return CodeResult(names["main"](**request.inputs))


def list_added_kinds(mode: Mode) -> list[AnyKind]:
    """Return the kinds that the palette offers behind a node outside of containers."""
    return [
        kind
        for kind in KINDS.values()
        if kind.execution not in (Execution.ENTRY, Execution.ROOT)
        and kind.mode in (None, mode)
        and not kind.allowed_containers
    ]


def build_store(mode: Mode) -> InMemoryStore:
    data: dict[str, Any] = FORM if mode is Mode.WORKFLOW else {}
    return InMemoryStore(Document(mode, (NodeSpec("start", "start", data),), ()))


def add(
    store: InMemoryStore, kind: str, id_: str, after: str, handle: str = "", **node: Any
) -> None:
    ops = [{"op": "add", "node": {"id": id_, "kind": kind, "x": 0, "y": 0, "data": {}, **node}}]
    if after:
        edge = {"source": after, "handle": handle or "source", "target": id_}
        ops.append({"op": "connect", "edge": edge})
    perform(store, read_ops(ops), context("fresh"))


def get_first_handle(kind: AnyKind) -> str:
    return next(iter(list_source_handles(NodeSpec("", kind.name, {}), kind)), "source")


def find_fields(store: InMemoryStore, node: str) -> set[str | None]:
    return {each.field for each in list_problems(store) if each.node == node}


def list_problems(store: InMemoryStore) -> list[Problem]:
    """Return the problems without open branches and empty containers, which a new node has until more is drawn."""
    problems = validate(store.build_document(), KINDS)
    return [each for each in problems if each.code not in ("branch.open", "container.empty")]


@for_each("mode", [Mode.CHAT, Mode.WORKFLOW])
@for_each("name", sorted({kind.name for kind in KINDS.values()}))
def test_added_node_has_no_problems_behind_any_other(mode: Mode, name: str) -> None:
    offered = list_added_kinds(mode)
    if name not in {kind.name for kind in offered}:
        return
    for before in BEFORE:
        store = build_store(mode)
        add(store, before, "before", "start")

        add(store, name, "new", "before", get_first_handle(KINDS[before]))

        assert find_fields(store, "new") <= CHOICES.get(name, set()), before
    store = build_store(mode)
    add(store, name, "new", "start")
    assert find_fields(store, "new") <= CHOICES.get(name, set())


def build_answering(mode: Mode) -> InMemoryStore:
    """Return what a newcomer builds: Start, LLM and the node that replies, one after the other."""
    store = build_store(mode)
    add(store, "llm", "llm", "start")
    add(store, "answer" if mode is Mode.CHAT else "end", "reply", "llm")
    return store


def iter_insertions(mode: Mode) -> Iterator[tuple[str, str]]:
    edges = build_answering(mode).build_document().edges
    return ((name, edge.id) for name in INSERTED for edge in edges)


def insert(store: InMemoryStore, name: str, edge_id: str) -> None:
    """Do what the + of an edge does."""
    edge = store.get_edge(edge_id)
    assert edge is not None
    handle = get_first_handle(KINDS[name])
    ops = [
        {"op": "disconnect", "id": edge_id},
        {"op": "add", "node": {"id": "new", "kind": name, "x": 0, "y": 0, "data": {}}},
        {"op": "connect", "edge": {"source": edge.source, "handle": edge.handle, "target": "new"}},
        {"op": "connect", "edge": {"source": "new", "handle": handle, "target": edge.target}},
    ]
    perform(store, read_ops(ops), context("fresh"))


def run(store: InMemoryStore, mode: Mode) -> dict[str, Any]:
    start: dict[str, Any] = (
        {"system": {"query": "A haiku"}} if mode is Mode.CHAT else {"inputs": {"topic": "A haiku"}}
    )
    result = asyncio.run(
        run_plan(store.build_document(), models=EchoModels(), code=KeywordCode(), **start)
    )
    assert result.status is RunStatus.SUCCEEDED, result.error
    return dict(result.outputs)


@for_each(
    "mode, name, edge",
    [(mode, *each) for mode in (Mode.CHAT, Mode.WORKFLOW) for each in iter_insertions(mode)],
)
def test_workflow_still_answers_with_a_node_inserted_into_an_edge(
    mode: Mode, name: str, edge: str
) -> None:
    store = build_answering(mode)

    insert(store, name, edge)

    assert list_problems(store) == []
    outputs = run(store, mode)
    assert outputs["answer" if mode is Mode.CHAT else "text"].strip() == "A haiku"


@pytest.mark.parametrize(
    "name", ["template-transform", "code", "llm", "agent", "document-extractor", "http-request"]
)
def test_reply_behind_a_node_that_makes_a_text_is_that_text(name: str) -> None:
    store = build_store(Mode.CHAT)
    add(store, name, "before", "start")

    add(store, "answer", "reply", "before")

    answer = store.items["reply"].data["answer"]
    output = KINDS[name].find_text_output(NodeSpec("before", name, store.items["before"].data))
    assert answer == f"{{{{#before.{output}#}}}}"
    assert output in {each.name for each in list_outputs(store, "before")}


def list_outputs(store: InMemoryStore, id_: str) -> Any:
    item = store.items[id_]
    return KINDS[item.kind].list_outputs(NodeSpec(id_, item.kind, item.data))


def test_branches_pass_on_the_text_before_them_and_a_branch_for_failures_its_error() -> None:
    store = build_store(Mode.CHAT)
    add(store, "llm", "llm", "start")
    add(store, "if-else", "if", "llm")

    add(store, "answer", "yes", "if", "true")
    add(store, "answer", "failed", "llm", "fail-branch")
    add(store, "answer", "echo", "start")

    answers = {name: store.items[name].data["answer"] for name in ("yes", "failed", "echo")}
    assert answers == {
        "yes": "{{#llm.text#}}",
        "failed": "{{#llm.error_message#}}",
        "echo": "{{#sys.query#}}",
    }


def test_node_in_an_iteration_reads_the_current_item_and_nodes_before_it_there() -> None:
    store = build_store(Mode.CHAT)
    add(store, "memory-recall", "recall", "start")
    add(store, "iteration", "each", "recall")

    add(store, "llm", "ask", "eachstart", parent="each")
    add(store, "template-transform", "show", "ask", parent="each")

    each = store.items["each"].data
    assert each["iterator_selector"] == ["recall", "results"]
    assert each["output_selector"] == ["ask", "text"]  # of the first node that makes a text
    assert store.items["ask"].data["prompt_template"][1]["text"] == "{{#each.item#}}"
    assert store.items["show"].data["variables"][0]["value_selector"] == ["ask", "text"]


@pytest.mark.parametrize(
    ("before", "reference"), [("start", "{{#sys.query#}}"), ("llm", "{{#llm.text#}}")]
)
def test_question_to_a_person_asks_to_check_the_text_before_it(before: str, reference: str) -> None:
    store = build_store(Mode.CHAT)
    add(store, "llm", "llm", "start")
    asked: list[str] = []

    def translate(text: str) -> str:
        asked.append(text)
        return f"ü {text}"

    node = {"id": "ask", "kind": "human-input", "x": 0, "y": 0, "data": {}}
    ops = [
        {"op": "add", "node": node},
        {"op": "connect", "edge": {"source": before, "target": "ask"}},
    ]
    perform(store, read_ops(ops), replace(context("fresh"), translate=translate))

    data = store.items["ask"].data
    assert data["form_content"] == f"ü Please check this.\n\n{reference}"
    assert [button["title"] for button in data["user_actions"]] == ["ü Submit"]
    assert {"Please check this.", "Submit"} <= set(asked)


def test_question_to_a_person_in_a_workflow_without_a_form_is_not_empty() -> None:
    store = InMemoryStore(Document(Mode.WORKFLOW, (NodeSpec("start", "start", {}),), ()))

    add(store, "human-input", "ask", "start")

    assert store.items["ask"].data["form_content"] == "Please check this."


@pytest.mark.parametrize(
    ("mode", "variables", "selector", "is_list"),
    [
        (Mode.CHAT, [], ["sys", "files"], True),
        (Mode.CHAT, [{"variable": "cv", "type": "file"}], ["start", "cv"], False),
        (Mode.WORKFLOW, [{"variable": "papers", "type": "file-list"}], ["start", "papers"], True),
        (Mode.WORKFLOW, [], None, None),
    ],
)
def test_document_extractor_reads_the_nearest_files(
    mode: Mode, variables: list[Any], selector: list[str] | None, is_list: bool | None
) -> None:
    start = NodeSpec("start", "start", {"variables": variables})
    store = InMemoryStore(Document(mode, (start,), ()))
    add(store, "llm", "llm", "start")

    add(store, "document-extractor", "read", "llm")

    data = store.items["read"].data
    assert data.get("variable_selector") == selector
    assert bool(data.get("is_array_file")) == bool(is_list)
