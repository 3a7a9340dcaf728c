"""Human input: a form with fields and buttons, and the run that continues with the answer."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from workflows.engine.errors import DocumentInvalid, InputRejected
from workflows.engine.kinds import UNTRUSTED_KEYS
from workflows.engine.language.dsl import load_document
from workflows.engine.language.plan import compile_plan
from workflows.engine.nodes import build_kinds
from workflows.engine.runtime.run_request import RunResult
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.runtime.step_records import RunStatus
from workflows.engine.runtime.waits import BY_LINK, Answer, check_answer, find_reply_field


FORM = {
    "type": "human-input",
    "title": "Ask",
    "delivery_methods": [{"id": "d", "type": "webapp", "enabled": True, "config": {}}],
    "form_content": "Send **{{#start.text#}}**? {{#$output.comment#}}",
    "inputs": [
        {
            "type": "text_input",
            "output_variable_name": "comment",
            "default": {"type": "variable", "selector": ["start", "text"], "value": ""},
        },
        {"type": "number", "output_variable_name": "stars"},
        {"type": "checkbox", "output_variable_name": "urgent"},
        {
            "type": "select",
            "output_variable_name": "team",
            "option_source": {"type": "constant", "value": ["red", "blue"]},
        },
    ],
    "user_actions": [
        {"id": "approve", "title": "Approve", "button_style": "primary"},
        {"id": "reject", "title": "Reject", "button_style": "default"},
    ],
    "timeout": 2,
    "timeout_unit": "day",
}
ENDS = ("approve", "reject", "__timeout")
SELECTORS = ("comment", "stars", "urgent", "team", "__action_id", "__rendered_content")


def document(**changes: Any) -> dict[str, Any]:
    outputs = [{"variable": name, "value_selector": ["ask", name]} for name in SELECTORS]
    ends = [
        {"id": f"end_{end.strip('_')}", "data": {"type": "end", "outputs": [
            *outputs, {"variable": "way", "value_selector": ["ask", "__action_id"]}]}}
        for end in ENDS
    ]  # fmt: skip
    return {
        "kind": "app",
        "version": "0.6.0",
        "app": {"name": "T", "mode": "workflow"},
        "workflow": {
            "graph": {
                "nodes": [
                    {"id": "start", "data": {"type": "start", "variables": [
                        {"variable": "text", "type": "text-input", "required": True}]}},
                    {"id": "ask", "data": {**FORM, **changes}},
                    *ends,
                ],
                "edges": [
                    {"source": "start", "target": "ask"},
                    *(
                        {"source": "ask", "sourceHandle": end, "target": f"end_{end.strip('_')}"}
                        for end in ENDS
                    ),
                ],
            }
        },
    }  # fmt: skip


def run(answer: Answer | None = None, text: str = "it", **changes: Any) -> list[RunResult]:
    async def main() -> list[RunResult]:
        runner = WorkflowRunner(document(**changes))
        handle = runner.start(inputs={"text": text})
        results = [await handle.result()]
        if answer is not None:
            (wait,) = results[0].open_waits
            handle = runner.resume(handle, {wait.key: answer})
            results.append(await handle.result())
        return results

    return asyncio.run(main())


def get_form(result: RunResult) -> Mapping[str, Any]:
    (wait,) = result.open_waits
    assert wait.wait.form is not None
    return wait.wait.form


def find_codes(**changes: Any) -> list[tuple[str, str | None]]:
    with pytest.raises(DocumentInvalid) as invalid:
        compile_plan(load_document(document(**changes)).document, build_kinds())
    return [(problem.code, problem.field) for problem in invalid.value.problems]


def test_run_pauses_with_the_form() -> None:
    (result,) = run()

    form = get_form(result)
    assert result.status is RunStatus.PAUSED
    assert form["content"] == "Send **it**? {{#$output.comment#}}"
    assert [(item["name"], item["type"], item["default"]) for item in form["inputs"]] == [
        ("comment", "text-input", "it"),
        ("stars", "number", None),
        ("urgent", "checkbox", None),
        ("team", "select", None),
    ]
    assert form["inputs"][3]["options"] == ["red", "blue"]
    assert form["actions"][0] == {"id": "approve", "title": "Approve", "style": "primary"}


@pytest.mark.parametrize("action", ["approve", "reject"])
def test_answer_selects_the_branch_and_becomes_the_outputs(action: str) -> None:
    values = {"comment": "fine", "stars": 4, "urgent": True, "team": "blue"}

    _paused, result = run(Answer(values, action, "alice"))

    assert result.status is RunStatus.SUCCEEDED
    assert result.outputs == {
        **values,
        "__action_id": action,
        "__rendered_content": "Send **it**? fine",
        "way": action,
    }
    assert {step.key.node_id for step in result.steps} >= {f"end_{action}"}


def test_nobody_answers_and_the_run_goes_on_at_the_timeout() -> None:
    _paused, result = run(Answer(is_timed_out=True))

    assert [s.key.node_id for s in result.steps if s.kind == "end"] == ["end_timeout"]
    assert result.outputs["way"] == "__timeout"
    assert result.outputs["__rendered_content"] == "Send **it**? it"


def test_place_of_a_field_in_a_variable_is_only_text() -> None:
    paused, result = run(Answer({"comment": "secret"}, "approve"), text="{{#$output.comment#}}")

    assert get_form(paused)["content"].count("{{#$output.comment#}}") == 1
    assert result.outputs["__rendered_content"].count("secret") == 1


def test_timeout_is_at_the_end_of_the_days() -> None:
    (result,) = run()

    (wait,) = result.open_waits
    started = result.steps[0].started_at
    assert wait.wait.due_at == pytest.approx(started + 2 * 86_400, abs=5)


def test_answer_by_link_is_recorded_as_untrusted() -> None:
    _paused, by_link = run(Answer({}, "approve", BY_LINK))
    _paused, by_alice = run(Answer({}, "approve", "alice"))

    inputs = [
        next(step.inputs for step in result.steps if step.key.node_id == "ask")
        for result in (by_link, by_alice)
    ]
    assert [UNTRUSTED_KEYS in step_inputs for step_inputs in inputs] == [True, False]


def test_duplicate_fields_and_actions_are_refused_with_a_sentence_for_each() -> None:
    twice = [{"type": "paragraph", "output_variable_name": "comment"}] * 2
    actions = [{"id": "approve", "title": "A"}, {"id": "approve", "title": "B"}]

    loaded = load_document(document(inputs=twice, user_actions=actions)).document

    with pytest.raises(DocumentInvalid) as invalid:
        compile_plan(loaded, build_kinds())

    repeated = [p for p in invalid.value.problems if p.code == "form.duplicate"]
    assert [(p.node, p.field, p.message) for p in repeated] == [
        ("ask", "inputs.1.output_variable_name",
         "Two fields have the name comment; each needs a name of its own"),
        ("ask", "user_actions.1.id",
         "Two buttons have the name approve; each needs a name of its own"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"inputs": [{"type": "file", "output_variable_name": "a"}]}, "inputs.0.type"),
        ({"inputs": [{"output_variable_name": "a b"}]}, "inputs.0.output_variable_name"),
        ({"user_actions": [{"id": "x" * 21, "title": "A"}]}, "user_actions.0.id"),
        ({"timeout": 0}, "timeout"),
        ({"timeout_unit": "year"}, "timeout_unit"),
    ],
)
def test_bad_setting_is_an_error_at_its_field(changes: dict[str, Any], field: str) -> None:
    assert field in [where for _code, where in find_codes(**changes)]


def test_form_without_actions_continues_at_the_ordinary_handle() -> None:
    changed = document(user_actions=[])
    graph = changed["workflow"]["graph"]
    graph["edges"] = [
        {"source": "start", "target": "ask"},
        {"source": "ask", "target": "end_approve"},
    ]

    async def main() -> RunResult:
        runner = WorkflowRunner(changed)
        handle = runner.start(inputs={"text": "it"})
        (wait,) = (await handle.result()).open_waits
        return await runner.resume(handle, {wait.key: Answer({"comment": "x"})}).result()

    assert asyncio.run(main()).outputs["comment"] == "x"


class TestCheckAnswer:
    form = get_form(run()[0])

    def test_missing_values_get_their_defaults(self) -> None:
        assert check_answer(self.form, {"stars": "3"}, "approve") == (
            {"comment": "it", "stars": 3, "urgent": False, "team": ""},
            "approve",
        )

    @pytest.mark.parametrize(
        ("values", "action", "field"),
        [
            ({"coment": "x"}, "approve", "coment"),
            ({"stars": "many"}, "approve", "stars"),
            ({"team": "green"}, "approve", "team"),
            ({"comment": 3}, "approve", "comment"),
            ({"comment": "x" * 100_001}, "approve", "comment"),
            ({}, "accept", "action"),
            ({}, "", "action"),
        ],
    )
    def test_what_is_wrong_is_named(self, values: dict[str, Any], action: str, field: str) -> None:
        with pytest.raises(InputRejected) as rejected:
            check_answer(self.form, values, action)

        assert [problem.field for problem in rejected.value.problems] == [field]

    def test_required_field_may_not_be_blank(self) -> None:
        form = {"inputs": [{"name": "a", "type": "paragraph", "required": True}]}

        with pytest.raises(InputRejected):
            check_answer(form, {"a": "  "})
        assert check_answer(form, {"a": "x"}) == ({"a": "x"}, "")

    def test_single_action_need_not_be_named(self) -> None:
        form = {"actions": [{"id": "send", "title": "Send"}]}

        assert check_answer(form, {}) == ({}, "send")


def test_message_answers_one_text_field_without_a_choice() -> None:
    one = {"name": "a", "type": "paragraph"}
    two_actions = [{"id": "yes"}, {"id": "no"}]

    assert find_reply_field({"type": "question", "inputs": [one]}) == "a"
    assert find_reply_field({"type": "form", "inputs": [one], "actions": [{"id": "ok"}]}) == "a"
    assert find_reply_field({"type": "form", "inputs": [one], "actions": two_actions}) is None
    assert find_reply_field({"type": "approval", "inputs": [one]}) is None
    assert find_reply_field({"inputs": [one, {"name": "b"}]}) is None
    assert find_reply_field({"inputs": [{"name": "n", "type": "number"}]}) is None
