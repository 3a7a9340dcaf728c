"""Test cases: reading them, what a check sees, and running them turn by turn."""

import pytest

from memory.logic.provider_port import ProviderPort
from memory.providers.in_memory import InMemoryProvider
from tests.support.cases import for_each
from workflows.engine.errors import DocumentInvalid
from workflows.engine.language.dsl import load_document
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.runtime.step_records import StepError, StepKey, StepRecord, StepStatus
from workflows.engine.testing.case_runs import run_case
from workflows.engine.testing.cases import Check, Facts, Turn, evaluate_turn, read_case, read_cases
from workflows.llm.offline import OfflineModels
from workflows.sandbox.templates import TemplatePool


def step(node, status=StepStatus.SUCCEEDED, **more):
    return StepRecord(StepKey(node), "llm", status, **more)


FACTS = Facts(
    status="succeeded",
    outputs={"answer": "No peanuts, Ana", "list": [{"n": 1}, {"n": 2}]},
    steps=(
        step("think", outputs={"text": "No peanuts", "deep": {"er": 3}}, handle="yes"),
        step("broken", StepStatus.EXCEPTION, error=StepError("X", "went wrong")),
        step("again", outputs={"n": 1}),
        step("again", outputs={"n": 2}),
    ),
    recalled=("diet: peanuts are bad", "pet: Miso"),
    written=(),
    seconds=0.5,
    tokens=12,
)


@for_each(
    "of, operator, value, ok",
    [
        ("output.answer", "contains", "peanuts", True),
        ("output.answer", "contains", "cheese", False),
        ("answer", "starts with", "No", True),
        ("output.list.1.n", "=", 2, True),
        ("output.list.7.n", "null", None, True),
        ("output.nothing", "not null", None, False),
        ("step.think", "is", "succeeded", True),
        ("step.think.status", "is", "skipped", False),
        ("step.think.handle", "is", "yes", True),
        ("step.think.outputs.deep.er", ">", 2, True),
        ("step.think.text", "contains", "peanuts", True),
        ("step.broken.error", "contains", "wrong", True),
        ("step.again.outputs.n", "=", 2, True),
        ("step.again.count", "=", 2, True),
        ("step.nobody", "null", None, True),
        ("recalled", "contains", "Miso", True),
        ("recalled", "contains", "Rex", False),
        ("recalled", "not contains", "Rex", True),
        ("recalled", "not contains", "Miso", False),
        ("recalled.count", "=", 2, True),
        ("written", "empty", None, True),
        ("written", "contains", "x", False),
        ("status", "is", "succeeded", True),
        ("seconds", "<", 1, True),
        ("tokens", "≤", 11, False),
    ],
)
def test_check_sees_what_the_run_gave(of, operator, value, ok):
    turn = Turn(checks=(Check(of=of, operator=operator, value=value),))

    (finding,) = evaluate_turn(turn, FACTS).findings

    assert finding.ok is ok


def test_turn_without_checks_asks_for_success_alone():
    assert evaluate_turn(Turn(), FACTS).has_passed
    assert not evaluate_turn(Turn(), Facts(status="failed", outputs={})).has_passed


def test_check_that_makes_no_sense_for_the_value_fails_with_the_reason():
    turn = Turn(checks=(Check(of="output.list", operator=">", value=3),))

    (finding,) = evaluate_turn(turn, FACTS).findings

    assert not finding.ok
    assert finding.problem


def test_case_of_one_turn_needs_no_list():
    case = read_case({"name": "short", "say": "hi", "checks": [{"of": "answer", "value": "hi"}]})

    assert [turn.say for turn in case.turns] == ["hi"]
    assert case.turns[0].checks[0].operator == "contains"


@pytest.mark.parametrize(
    ("written", "field"),
    [
        ({"turns": [{}]}, "name"),
        ({"name": "x", "turns": []}, "turns"),
        ({"name": "x", "turns": [{"shout": "hi"}]}, "turns.0.shout"),
        ({"name": "x", "checks": [{"of": "moon"}]}, "turns.0.checks.0.of"),
        ({"name": "x", "checks": [{"of": "status", "operator": "likes"}]}, "turns.0.checks.0.operator"),
        ({"name": "x", "checks": [{"of": "status", "operator": "is"}]}, "turns.0.checks.0"),
    ],
)  # fmt: skip
def test_case_written_wrongly_names_the_field(written, field):
    with pytest.raises(DocumentInvalid) as refused:
        read_cases([written])

    assert [problem.field for problem in refused.value.problems] == [field]


CHAT = {
    "version": "0.6.0",
    "kind": "app",
    "app": {"name": "c", "mode": "advanced-chat"},
    "workflow": {
        "graph": {
            "nodes": [
                {"id": "start", "data": {"type": "start", "variables": []}},
                {
                    "id": "recall",
                    "data": {
                        "type": "memory-recall",
                        "scope": "user",
                        "query_selector": ["sys", "query"],
                    },
                },
                {
                    "id": "keep",
                    "data": {
                        "type": "memory-store",
                        "scope": "user",
                        "key": "said-{{#sys.dialogue_count#}}",
                        "value_selector": ["sys", "query"],
                    },
                },
                {"id": "say", "data": {"type": "answer", "answer": "{{#recall.count#}} known"}},
            ],
            "edges": [
                {"id": "a", "source": "start", "target": "recall"},
                {"id": "b", "source": "recall", "target": "keep"},
                {"id": "c", "source": "keep", "target": "say"},
            ],
        }
    },
}


@pytest.fixture
def making():
    pool = TemplatePool()

    def make(document, *, history, mocks):
        return WorkflowRunner(
            document,
            memory=memory,
            models=OfflineModels(),
            templates=pool,
            history=history,
            mocks=mocks,
        )

    memory = ProviderPort(InMemoryProvider())
    yield make, memory
    pool.close()


async def test_turns_share_memory_and_people_do_not(making):
    make, memory = making
    case = read_case(
        {
            "name": "Walls",
            "memories": [{"person": "ana", "key": "pet", "value": "a cat called Miso"}],
            "turns": [
                {
                    "say": "my cat eats fish",
                    "person": "ana",
                    "checks": [{"of": "answer", "value": "1 known"}, {"of": "written", "value": "fish"}],
                },
                {
                    "say": "my cat",
                    "person": "ana",
                    "conversation": "other",
                    "checks": [{"of": "answer", "value": "2 known"}, {"of": "recalled", "value": "Miso"}],
                },
                {"say": "my cat", "person": "ben", "checks": [{"of": "recalled.count", "operator": "=", "value": 0}]},
            ],
        }
    )  # fmt: skip

    result = await run_case(load_document(CHAT).document, case, make, memory)

    assert result.has_passed, result


async def test_turns_branch_on_the_number_of_turns_before_them(making):
    make, memory = making
    cases = [
        {
            "case_id": f"after-{count}",
            "logical_operator": "and",
            "conditions": [
                {
                    "variable_selector": ["sys", "dialogue_count"],
                    "comparison_operator": "=",
                    "value": str(count),
                    "varType": "number",
                }
            ],
        }
        for count in range(3)
    ]
    handles = [case["case_id"] for case in cases] + ["false"]
    document = {
        **CHAT,
        "workflow": {
            "graph": {
                "nodes": [
                    {"id": "start", "data": {"type": "start", "variables": []}},
                    {"id": "which", "data": {"type": "if-else", "cases": cases}},
                    *(
                        {"id": f"say-{handle}", "data": {"type": "answer", "answer": handle}}
                        for handle in handles
                    ),
                ],
                "edges": [
                    {"id": "first", "source": "start", "target": "which"},
                    *(
                        {
                            "id": handle,
                            "source": "which",
                            "target": f"say-{handle}",
                            "sourceHandle": handle,
                        }
                        for handle in handles
                    ),
                ],
            }
        },
    }
    turns = [
        {"say": "hi", "checks": [{"of": "answer", "operator": "is", "value": handle}]}
        for handle in handles
    ]

    result = await run_case(
        load_document(document).document, read_case({"name": "Count", "turns": turns}), make, memory
    )

    assert result.has_passed, result


async def test_case_that_fails_says_what_there_was_instead(making):
    make, memory = making
    case = read_case(
        {"name": "No", "say": "hello", "checks": [{"of": "answer", "value": "9 known"}]}
    )

    result = await run_case(load_document(CHAT).document, case, make, memory)

    assert not result.has_passed
    assert result.turns[0].findings[0].actual == "0 known"


async def test_case_that_cannot_begin_gives_the_reason(making):
    make, memory = making
    document = load_document(CHAT).document
    case = read_case({"name": "No", "say": "hi", "pins": {"recall": {"colour": "red"}}})

    result = await run_case(document, case, make, memory)

    assert not result.has_passed
    assert "colour" in result.problem


async def test_pinned_step_is_not_run(making):
    make, memory = making
    case = read_case(
        {
            "name": "Pin",
            "say": "hi",
            "pins": {"recall": {"outputs": {"results": [], "count": 7}}},
            "checks": [{"of": "answer", "value": "7 known"}],
        }
    )

    assert (await run_case(load_document(CHAT).document, case, make, memory)).has_passed


ASKING = {
    "version": "0.1.0",
    "nodes": [
        {"id": "start", "data": {"type": "start", "title": "Start", "variables": []}},
        {"id": "ask", "data": {
            "type": "human-input", "title": "Ask", "form_content": "Well?", "timeout": 1,
            "inputs": [{"type": "text-input", "output_variable_name": "name", "required": True}],
            "user_actions": [{"id": "yes", "title": "Yes"}, {"id": "no", "title": "No"}]}},
        {"id": "rest", "data": {"type": "delay", "title": "Rest", "duration": 3, "unit": "hours"}},
        {"id": "end", "data": {"type": "end", "title": "End", "outputs": [
            {"variable": "name", "value_selector": ["ask", "name"]}]}},
    ],
    "edges": [
        {"id": "e1", "source": "start", "target": "ask"},
        {"id": "e2", "source": "ask", "sourceHandle": "yes", "target": "rest"},
        {"id": "e3", "source": "rest", "target": "end"},
        {"id": "e4", "source": "ask", "sourceHandle": "no", "target": "end"},
        {"id": "e5", "source": "ask", "sourceHandle": "__timeout", "target": "end"},
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("answers", "status", "handle"),
    [
        ([{"action": "yes", "values": {"name": "Mia"}}], "succeeded", "yes"),
        ([{"is_timed_out": True}], "succeeded", "__timeout"),
        ([], "paused", None),
    ],
)
async def test_case_answers_the_forms_of_a_run_and_waits_for_no_delay(answers, status, handle):
    case = read_case({"name": "asks", "answers": answers, "checks": [
        {"of": "status", "operator": "is", "value": status}]})  # fmt: skip

    result = await run_case(load_document(ASKING).document, case, build_runner, None)

    assert (result.problem, result.has_passed) == ("", True)
    asked = [step for step in result.turns[0].facts.steps if step.key.node_id == "ask"]
    assert [step.handle for step in asked] == ([handle] if handle else [])


async def test_answer_that_does_not_fit_its_form_is_the_problem_of_the_case():
    case = read_case({"name": "asks", "answers": [{"action": "maybe", "values": {}}]})

    result = await run_case(load_document(ASKING).document, case, build_runner, None)

    assert not result.has_passed
    assert "action must be one of the following: yes, no" in result.problem


def build_runner(document, *, history, mocks):
    return WorkflowRunner(document, history=history, mocks=mocks)
