"""A step in the editor: its inputs, outputs, prompt and memories, its pin, and the previous run."""

from collections.abc import Mapping
from typing import Any

from accounts.principals import Principal
from workflows import permissions, selectors
from workflows.engine.language.document import Json
from workflows.engine.runtime.step_reports import measure_size
from workflows.models import Pin, Run, Step, Workflow
from workflows.services.debugging.pins import build_template, list_branches
from workflows.services.runs.waits import list_answered
from workflows.views.request_context import parse_id_or_none
from workflows.views.runs.agent_rounds import build_agent_rows
from workflows.views.runs.detail import (
    StepRow,
    is_pinned,
    may_have_started_runs,
    sum_answer_seconds,
)
from workflows.views.runs.memory.context import (
    list_prompt_messages,
    list_recalled,
    list_recalled_below,
    record_access,
)
from workflows.views.runs.options import format_json
from workflows.views.value_text import format_value


MAX_LENGTH = 2_000  # characters of a value, unless all of it is requested


def build_step_context(
    principal: Principal, workflow: Workflow, node: str, run_id: str
) -> dict[str, Any]:
    """Build the context from the requested run, or from the newest run with such a step."""
    step = selectors.find_newest_step(principal, workflow, node, parse_id_or_none(run_id))
    context: dict[str, Any] = {
        "workflow": workflow,
        "node": node,
        "step": None,
        **build_pin_context(principal, workflow, node, last_step=step),
    }
    if step is None:
        return context
    run = step.run
    previous_step = selectors.find_previous_step(principal, workflow, step)
    return context | {
        "step": StepRow(
            step,
            is_pinned(step, run.mocks),
            answer_seconds=sum_answer_seconds(step, list_answered(principal, run)),
        ),
        "run": run,
        "warning": _find_warning(run, node),
        "inputs": _serialize_values(
            {name: value for name, value in step.shown_inputs.items() if name != "messages"}
        ),
        "messages": list_prompt_messages(step.inputs),
        "outputs": _serialize_values(step.outputs),
        "agents": build_agent_rows(principal, run, node, ".".join(map(str, step.rounds))),
        "recalled": record_access(
            principal,
            run,
            [
                *list_recalled(principal, run, node),
                *(
                    list_recalled_below(principal, run, node)
                    if may_have_started_runs([step])
                    else []
                ),
            ],
        )[0],
        "rounds": selectors.count_rounds(principal, step),
        "before": previous_step,
        "before_outputs": _serialize_values(previous_step.outputs) if previous_step else [],
        "is_same": previous_step is not None and previous_step.outputs == step.outputs,
        "can_edit_step": run.status == "paused"
        and not step.rounds
        and permissions.may_cancel(principal, run)
        and permissions.may_start_draft(principal, run.workflow),
        "typed_outputs": format_json(step.outputs),
    }


def build_pin_context(
    principal: Principal,
    workflow: Workflow,
    node: str,
    *,
    last_step: Step | None = None,
    text: str | None = None,
    error: str = "",
) -> dict[str, Any]:
    """Build the context of the pin's form, filled from the pin or else from the node's last outputs."""
    pin: Pin | None = selectors.list_pins(principal, workflow).filter(node_key=node).first()
    if last_step is None and pin is None:
        last_step = selectors.find_newest_step(principal, workflow, node, None)
    outputs: Json = pin.outputs if pin else last_step.outputs if last_step else {}
    template = {} if pin or outputs else build_template(workflow, node)
    handle = pin.handle if pin else last_step.handle if last_step else None
    return {
        "workflow": workflow,
        "node": node,
        "pin": pin,
        "pin_text": text if text is not None else format_json(outputs or template),
        "has_template": bool(template),
        "pin_handle": handle or "",
        "pin_run_id": str(last_step.run_id) if last_step and not pin else "",
        "pin_branches": list_branches(workflow, node),
        "pin_error": error,
        "can_pin": permissions.may_edit(principal, workflow),
    }


def build_value_context(run: Run, step: Step, part: str, *, is_complete: bool) -> dict[str, Any]:
    data = step.shown_inputs if part == "inputs" else step.outputs
    values = _serialize_values(data, None if is_complete else MAX_LENGTH)
    return {
        "run": run,
        "step": step,
        "part": part or "outputs",
        "values": values,
        "size": measure_size(data),
        "is_cut": not is_complete and any(value["is_cut"] for value in values),
    }


def _serialize_values(
    values: Mapping[str, Json], limit: int | None = MAX_LENGTH
) -> list[dict[str, Any]]:
    return [_serialize_value(name, value, limit) for name, value in values.items()]


def _serialize_value(name: str, value: Json, limit: int | None) -> dict[str, Any]:
    if limit is None:
        text = value if isinstance(value, str) else format_json(value)
    else:
        text = format_value(value)
    is_cut = limit is not None and len(text) > limit
    return {
        "name": name,
        "text": text[:limit] if is_cut else text,
        "is_cut": is_cut,
        "count": len(value) if isinstance(value, list | dict) else None,
        "is_list": isinstance(value, list),
    }


def _find_warning(run: Run, node: str) -> str:
    """Return the code of the run's warning about this node, or an empty string."""
    for warning in (run.debug or {}).get("warnings") or ():
        if warning.get("node") == node:
            return str(warning.get("code"))
    return ""
