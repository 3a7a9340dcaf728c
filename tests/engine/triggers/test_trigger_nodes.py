"""The trigger nodes: what they pass on, what the validator says of them, and Dify's documents with them."""

import pytest

from tests.engine.import_report.documents import build_inventory
from tests.support.documents import document, end, node
from workflows.engine.errors import InputRejected
from workflows.engine.import_report.building import build_report
from workflows.engine.language.dsl import load_document
from workflows.engine.language.dsl.write_dify import write_dify
from workflows.engine.language.plan import compile_plan
from workflows.engine.language.start_form import check_start_inputs
from workflows.engine.language.validation import validate
from workflows.engine.nodes import build_kinds
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.triggers.calls import TriggerCall


KINDS = build_kinds()
WEBHOOK = {
    "method": "post",
    "headers": [{"name": "X-Event", "type": "string", "required": False}],
    "params": [{"name": "page", "type": "number", "required": False}],
    "body": [{"name": "order", "type": "string", "required": True}],
}
DAILY = {"frequency": "daily", "visual_config": {"time": "9:00 AM"}, "timezone": "Europe/Berlin"}


def webhook(**data):
    return node("hook", "trigger-webhook", **{**WEBHOOK, **data})


def shop():
    last = end(order=["hook", "order"], event=["hook", "X_Event"])
    return document([webhook(), last], ["hook -> end"])


async def test_webhook_passes_its_values_on():
    runner = WorkflowRunner(shop())

    result = await runner.run(inputs={"order": "A-1", "X_Event": "paid", "page": "2"})

    assert result.outputs == {"order": "A-1", "event": "paid"}


async def test_webhook_gives_the_whole_request_under_difys_name():
    both = document([webhook(), end(raw=["hook", "_webhook_raw", "method"])], ["hook -> end"])
    call = TriggerCall("hook", {"method": "POST"})

    result = await WorkflowRunner(both).run(
        inputs={"order": "A-1"}, system=call.to_system_variables()
    )

    assert result.outputs == {"raw": "POST"}


def test_missing_values_of_a_webhook_are_named():
    with pytest.raises(InputRejected) as rejected:
        check_start_inputs(shop(), {"page": "many"})

    assert {problem.field for problem in rejected.value.problems} == {"order", "page"}


async def test_schedule_passes_the_due_time_on():
    daily = document(
        [node("clock", "trigger-schedule", **DAILY), end(at=["clock", "scheduled_at"])],
        ["clock -> end"],
    )
    call = TriggerCall("clock", scheduled_at="2026-03-02T09:00:00+01:00")

    result = await WorkflowRunner(daily).run(system=call.to_system_variables())

    assert result.outputs == {"at": "2026-03-02T09:00:00+01:00"}


def test_run_begins_at_the_trigger_that_was_called():
    several = document(
        [
            webhook(),
            node("clock", "trigger-schedule", **DAILY),
            end(order=["hook", "order"]),
        ],
        ["hook -> end", "clock -> end"],
    )

    plan = compile_plan(several, KINDS, root="clock")

    assert plan.nodes[plan.root].id == "clock"
    assert "hook" in plan.unreached
    assert validate(several, KINDS) == []


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({"method": "trace"}, "method"),
        ({"status_code": 500}, "status_code"),
        ({"method": "get"}, "body"),
        ({"params": [{"name": "order", "type": "string"}]}, "body.0.name"),
        ({"body": [{"name": "order", "type": "date"}]}, "body.0.type"),
    ],
)
def test_webhook_with_a_mistake_names_its_field(data, field):
    assert [p.field for p in KINDS["trigger-webhook"].check(webhook(**data))] == [field]


def test_schedule_with_a_mistake_names_its_field():
    wrong = node("clock", "trigger-schedule", mode="cron", cron_expression="0 25 * * *")

    assert [p.field for p in KINDS["trigger-schedule"].check(wrong)] == ["cron_expression"]


# As Dify 1.10 writes them, with the settings that only its forms use.
DIFY = {
    "version": "0.5.0",
    "kind": "app",
    "app": {"name": "Orders", "mode": "workflow"},
    "workflow": {
        "graph": {
            "nodes": [
                {
                    "id": "17",
                    "type": "custom",
                    "data": {
                        "type": "trigger-webhook",
                        "title": "Order",
                        "method": "post",
                        "content_type": "application/json",
                        "headers": [],
                        "params": [],
                        "body": [{"name": "order", "type": "string", "required": True}],
                        "async_mode": True,
                        "status_code": 202,
                        "response_body": "{}",
                        "webhook_url": "",
                        "webhook_debug_url": "",
                        "variables": [
                            {"variable": "_webhook_raw", "label": "raw", "value_type": "object"}
                        ],
                    },
                },
                {
                    "id": "18",
                    "type": "custom",
                    "data": {
                        "type": "trigger-schedule",
                        "title": "Every month",
                        "mode": "visual",
                        "frequency": "monthly",
                        "cron_expression": "",
                        "visual_config": {
                            "time": "11:30 AM",
                            "weekdays": ["sun"],
                            "on_minute": 0,
                            "monthly_days": [1, "last"],
                        },
                        "timezone": "America/New_York",
                    },
                },
                {
                    "id": "19",
                    "type": "custom",
                    "data": {
                        "type": "end",
                        "outputs": [{"variable": "o", "value_selector": ["17", "order"]}],
                    },
                },
            ],
            "edges": [
                {"id": "a", "source": "17", "sourceHandle": "source", "target": "19"},
                {"id": "b", "source": "18", "sourceHandle": "source", "target": "19"},
            ],
        }
    },
}


def test_triggers_of_dify_are_carried_out_without_a_warning():
    loaded = load_document(DIFY).document

    assert validate(loaded, KINDS) == []
    report = build_report(loaded, build_inventory())
    assert (report.findings, report.silent) == ((), ())


def test_triggers_of_dify_are_exported_as_they_were():
    loaded = load_document(DIFY).document

    written = load_document(write_dify(loaded, include_secrets=False)).document

    assert [n.data for n in written.nodes] == [n.data for n in loaded.nodes]
