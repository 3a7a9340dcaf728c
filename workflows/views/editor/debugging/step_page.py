"""What the editor shows of one step: in, out, the prompt, memories; the pin; the run before."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from accounts.principals import Principal
from workflows import permissions, selectors
from workflows.engine.language.document import Json
from workflows.engine.runtime.step_reports import measure_size
from workflows.models import Pin, Run, Step, Workflow
from workflows.views.runs.detail import StepRow
from workflows.views.runs.memory import looked_at, recalled_in
from workflows.views.runs.options import as_typed
from workflows.views.value_text import shown


SHORT = 2_000  # characters shown of a value before somebody asks for all of it


def step_page(principal: Principal, workflow: Workflow, node: str, run_id: str) -> dict[str, Any]:
    """Of the run asked for; without one the newest in which the node ran."""
    step = selectors.step_in_workflow(principal, workflow, node, _uuid(run_id))
    found: dict[str, Any] = {
        "workflow": workflow,
        "node": node,
        "step": None,
        **pin_form(principal, workflow, node, last=step),
    }
    if step is None:
        return found
    run = step.run
    before = selectors.step_before(principal, workflow, step)
    return found | {
        "step": StepRow(step),
        "run": run,
        "is_pinned_here": node in (run.mocks or {}),
        "warning": _warning(run, node),
        "inputs": _values(without_prompt(step.inputs)),
        "messages": prompt_of(step.inputs),
        "outputs": _values(step.outputs),
        "recalled": looked_at(principal, run, recalled_in(principal, run, node))[0],
        "rounds": selectors.rounds_of(principal, step),
        "before": before,
        "before_outputs": _values(before.outputs) if before else [],
        "is_same": before is not None and before.outputs == step.outputs,
        "can_edit_step": run.status == "paused"
        and not step.rounds
        and permissions.may_cancel(principal, run),
        "typed_outputs": as_typed(step.outputs),
    }


def pin_form(
    principal: Principal,
    workflow: Workflow,
    node: str,
    *,
    last: Step | None = None,
    typed: str | None = None,
    error: str = "",
) -> dict[str, Any]:
    """The pin as it is, else what the node gave last: that is what one would pin."""
    pin: Pin | None = selectors.pins_of(principal, workflow).filter(node_key=node).first()
    if last is None and pin is None:
        last = selectors.step_in_workflow(principal, workflow, node, None)
    given: Json = pin.outputs if pin else last.outputs if last else {}
    handle = pin.handle if pin else last.handle if last else None
    return {
        "workflow": workflow,
        "node": node,
        "pin": pin,
        "pin_text": typed if typed is not None else as_typed(given),
        "pin_handle": handle or "",
        "pin_error": error,
        "can_pin": permissions.may_edit(principal, workflow),
    }


def value_page(run: Run, step: Step, part: str, *, whole: bool) -> dict[str, Any]:
    given = step.inputs if part == "inputs" else step.outputs
    values = _values(given, None if whole else SHORT)
    return {
        "run": run,
        "step": step,
        "part": part or "outputs",
        "values": values,
        "size": measure_size(given),
        "is_cut": not whole and any(value["is_cut"] for value in values),
    }


def prompt_of(inputs: Json) -> list[dict[str, str]]:
    """The messages of a model's step, as it was sent them."""
    messages = inputs.get("messages") if isinstance(inputs, Mapping) else None
    if not isinstance(messages, list):
        return []
    return [
        {"role": str(one.get("role", "")), "text": str(one.get("text", ""))}
        for one in messages
        if isinstance(one, Mapping)
    ]


def without_prompt(inputs: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in inputs.items() if name != "messages"}


def _values(values: Mapping[str, Json], limit: int | None = SHORT) -> list[dict[str, Any]]:
    return [_value(name, value, limit) for name, value in values.items()]


def _value(name: str, value: Json, limit: int | None) -> dict[str, Any]:
    text = (
        shown(value)
        if limit is not None
        else (value if isinstance(value, str) else as_typed(value))
    )
    is_cut = limit is not None and len(text) > limit
    return {
        "name": name,
        "text": text[:limit] if is_cut else text,
        "is_cut": is_cut,
        "count": len(value) if isinstance(value, list | dict) else None,
        "is_list": isinstance(value, list),
    }


def _warning(run: Run, node: str) -> str:
    for one in (run.debug or {}).get("warnings") or ():
        if one.get("node") == node:
            return str(one.get("code"))
    return ""


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
