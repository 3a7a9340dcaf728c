"""Cases 01, 04, 05, 08, 09 and 13: runs in this process, of documents as they come."""

from typing import Any

import pytest

from tests.spec.cases.documents import FLAT, Tree, build, end, http, node, start, text
from tests.support.code import CODE
from tests.support.engine import JinjaHere
from workflows.engine.language.dsl import build_tree, load_document
from workflows.engine.language.validation import validate
from workflows.engine.nodes import build_kinds
from workflows.engine.ports import ModelPort
from workflows.engine.testing.backends import InProcessBackend, Outcome, Request
from workflows.llm.offline.provider import OfflineModels


KINDS = build_kinds()


async def run(tree: Tree, query: str = "", models: ModelPort | None = None, **inputs: Any) -> Outcome:  # fmt: skip
    backend = InProcessBackend(models=models, templates=JinjaHere(), code=CODE)
    request = Request(load_document(tree).document, inputs=inputs, system={"query": query})
    return await backend.run(request)


def find_errors(tree: Tree) -> list[str]:
    return [str(p) for p in validate(load_document(tree).document, KINDS) if p.is_error]


def parcels(mode: str, *, parallel: bool) -> Tree:
    code = "def main(day):\n    rows = {'monday': ['A-17', 'B-02'], 'never': None}\n    return {'rows': rows.get(day, [])}\n"
    inner = text("label", "Parcel {{ item }}", item=["each", "item"])
    return build(
        "Labels of a day",
        [
            start("day"),
            node("parcels", "code", code_language="python3", code=code, outputs={"rows": {"type": "array[string]"}},
                 variables=[{"variable": "day", "value_selector": ["start", "day"]}]),
            node("each", "iteration", iterator_selector=["parcels", "rows"], output_selector=["label", "output"],
                 start_node_id="eachstart", is_parallel=parallel, parallel_nums=4, error_handle_mode=mode),
            {**node("eachstart", "iteration-start"), "parentId": "each"},
            {**inner, "parentId": "each"},
            end(labels=["each", "output"]),
        ],
        ["start>parcels", "parcels>each", "eachstart>label", "each>end"],
    )  # fmt: skip


@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize("mode", ["terminated", "continue-on-error", "remove-abnormal-output"])
async def test_01_iteration_over_nothing_gives_an_empty_list(mode: str, parallel: bool) -> None:
    tree = parcels(mode, parallel=parallel)

    outcomes = [await run(tree, day=day) for day in ("sunday", "never", "monday")]

    assert [(outcome.status, outcome.outputs["labels"]) for outcome in outcomes] == [
        ("succeeded", []),
        ("succeeded", []),
        ("succeeded", ["Parcel A-17", "Parcel B-02"]),
    ]


def parcels_of_days(mode: str, *, parallel: bool) -> Tree:
    """Return an iteration over days with an iteration over each day's parcels in it, of which some days have none."""
    code = "def main():\n    return {'days': [{'rows': ['A-17']}, {'rows': []}, {'rows': None}, {'rows': ['B-02']}]}\n"
    each = {"is_parallel": parallel, "parallel_nums": 4, "error_handle_mode": mode}
    return build(
        "Labels of all days",
        [
            start(),
            node("parcels", "code", code_language="python3", code=code, outputs={"days": {"type": "array[object]"}}, variables=[]),
            node("day", "iteration", iterator_selector=["parcels", "days"], output_selector=["each", "output"],
                 start_node_id="daystart", **each),
            {**node("daystart", "iteration-start"), "parentId": "day"},
            {**node("each", "iteration", iterator_selector=["day", "item", "rows"], output_selector=["label", "output"],
                    start_node_id="eachstart", **each), "parentId": "day"},
            {**node("eachstart", "iteration-start"), "parentId": "each"},
            {**text("label", "Parcel {{ item }}", item=["each", "item"]), "parentId": "each"},
            end(labels=["day", "output"]),
        ],
        ["start>parcels", "parcels>day", "daystart>each", "eachstart>label", "day>end"],
    )  # fmt: skip


@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize("mode", ["terminated", "continue-on-error", "remove-abnormal-output"])
async def test_01_iteration_over_nothing_inside_another_one_is_left_out(
    mode: str, parallel: bool
) -> None:
    outcome = await run(parcels_of_days(mode, parallel=parallel))

    assert (outcome.status, outcome.outputs["labels"]) == (
        "succeeded",
        ["Parcel A-17", "Parcel B-02"],
    )


@pytest.mark.parametrize(
    "brackets",
    [
        "Leave gaps as [...] and keep the sizes {1, 2, 3}.",
        "[b'x', 1j, {2}]",
        "{(1, 2): ...}",
        "[" * 3000,
        "{'a': {'b': {1, 2}}, 'c': b\"x\"}",
        "[1, [2, ...]] {'x': 3+4j}",
    ],
)
async def test_04_nothing_in_a_prompt_breaks_the_offline_model(brackets: str) -> None:
    prompt = f"Rewrite the mail. {brackets}\n\nMail: {{{{#start.message#}}}}"
    model = {"provider": "openai", "name": "gpt-4o-mini", "mode": "chat", "completion_params": {}}
    tree = build(
        "Rewrite a mail",
        [start("message"),
         node("reply", "llm", model=model, prompt_template=[{"id": "u", "role": "user", "text": prompt}]),
         end(text=["reply", "text"])],
        ["start>reply", "reply>end"],
    )  # fmt: skip

    outcome = await run(tree, models=OfflineModels(), message="The gate is closed.")

    assert (outcome.status, outcome.error) == ("succeeded", None)
    assert outcome.outputs["text"]


ORDER = build(
    "Where is my order",
    [
        start("number"),
        node("known", "if-else", cases=[{"id": "true", "case_id": "true", "logical_operator": "and", "conditions": [
            {"id": "c", "variable_selector": ["start", "number"], "comparison_operator": "not empty", "value": ""}]}]),
        text("order", "order {{ n }}", n=["start", "number"]),
        node("say", "answer", answer="We looked for {{#order.output#}}."),
    ],
    ["start>known", "known:true>order", "order>say", "known:false>say"],
    "advanced-chat",
)  # fmt: skip


@pytest.mark.parametrize(
    ("number", "said"), [("", "We looked for order.output."), ("7", "We looked for order 7.")]
)
async def test_05_streamed_answer_is_the_stored_one(number: str, said: str) -> None:
    outcome = await run(ORDER, query="hi", number=number)

    assert (outcome.outputs["answer"], outcome.stream) == (said, said)


def test_05_draft_warns_beforehand_that_the_value_may_be_missing() -> None:
    problems = validate(load_document(ORDER).document, KINDS)

    assert [(problem.node, problem.field, problem.code) for problem in problems] == [
        ("say", "answer", "reference.may_be_missing")
    ]


async def test_08_document_with_numbers_as_ids_is_valid_and_runs() -> None:
    word = {"variable": "word", "label": "word", "type": "paragraph", "required": False}
    tree = build(
        "Numbers as ids",
        [
            {"id": 1801, "data": {"type": "start", "variables": [word]}},
            {"id": 1802, "data": {"type": "template-transform", "template": "{{ w }}!",
                                  "variables": [{"variable": "w", "value_selector": [1801, "word"]}]}},
            {"id": 1803, "data": {"type": "end", "outputs": [{"variable": "out", "value_selector": [1802, "output"]}]}},
        ],
        [],
    )  # fmt: skip
    tree["workflow"]["graph"]["edges"] = [
        {"id": "a", "source": 1801, "target": 1802},
        {"id": "b", "source": 1802, "target": 1803},
    ]

    outcome = await run(tree, word="hi")

    assert find_errors(tree) == []
    assert (outcome.status, outcome.outputs) == ("succeeded", {"out": "hi!"})


def test_09_retry_numbers_as_text_are_numbers() -> None:
    call = http("call")
    call["data"]["retry_config"] = {"retry_enabled": False, "max_retries": "2", "retry_interval": "1000"}  # fmt: skip
    tree = build("Retry as text", [start("q"), call, end(status=["call", "status_code"])],
                 ["start>call", "call>end"])  # fmt: skip

    written = build_tree(load_document(tree).document)["workflow"]["graph"]["nodes"][1]["data"]

    assert find_errors(tree) == []
    assert written["retry_config"] == {"retry_enabled": False, "max_retries": 2, "retry_interval": 1000}  # fmt: skip


async def test_13_graph_in_another_place_runs() -> None:
    outcome = await run(FLAT, q="hi")

    assert (outcome.status, outcome.outputs) == ("succeeded", {"out": "hi"})
