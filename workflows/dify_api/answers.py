"""The answers to calls: of whole runs, what the API says beside the text, and how a failure is told."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from django.db.models import Count, QuerySet

from accounts.principals import Principal
from workflows import selectors
from workflows.dify_api.calls import Call, get_status, get_workflow_id, to_seconds
from workflows.dify_api.errors import RUN_ERROR_CODES, DifyError
from workflows.engine.language.document import Json
from workflows.engine.language.values import is_file
from workflows.engine.runtime.events import (
    MemoryForgetAsked,
    MemoryForgotten,
    MemoryKeptOut,
    MemoryRecalled,
    MemoryWritten,
)
from workflows.engine.runtime.waits import list_actions
from workflows.models import Run, RunWait, Step
from workflows.models.run import RunStatus, StepStatus
from workflows.services.questions.links import make_form_token
from workflows.services.runs.citations import build_answer_metadata
from workflows.services.runs.waits import list_open_waits


CURRENCY: Final = "USD"
_NO_PRICE: Final = "0"
_MAX_MEMORIES: Final = 100


def build_workflow_answer(call: Call) -> dict[str, Json]:
    """Return the answer of a workflow. A failed one is told by its status."""
    data = build_run_data(call.principal, call.run)
    if call.run.status == RunStatus.PAUSED:
        data |= {"reasons": [build_form_data(call, wait) for wait in list_forms(call)]}
    memory = build_memory(call.principal, call.run)
    return {
        "task_id": call.task_id,
        "workflow_run_id": str(call.run.pk),
        "data": data,
        "metadata": {"memory": memory},
    }


def build_message_answer(call: Call) -> dict[str, Json]:
    """Return the answer of a chat, or of an app that completes a text. Raises DifyError if the run failed."""
    if call.run.status == RunStatus.FAILED:
        raise build_run_error(call.principal, call.run)
    answer: dict[str, Json] = {
        "event": "message",
        "task_id": call.task_id,
        "id": call.message_id,
        "message_id": call.message_id,
        "conversation_id": call.conversation_id,
        "mode": call.mode,
        "answer": read_answer(call.run),
        "metadata": build_metadata(call.principal, call.run),
        "created_at": call.created_at,
    }
    if call.run.status == RunStatus.PAUSED:
        answer["data"] = {
            "status": "paused",
            "workflow_run_id": str(call.run.pk),
            "reasons": [build_form_data(call, wait) for wait in list_forms(call)],
        }
    return answer


def build_run_data(principal: Principal, run: Run) -> dict[str, Json]:
    return {
        "id": str(run.pk),
        "workflow_id": get_workflow_id(run),
        "status": get_status(run),
        "outputs": run.outputs or {},
        "error": run.error or None,
        "elapsed_time": run.elapsed or 0.0,
        "total_tokens": run.total_tokens,
        "total_steps": count_steps(principal, [run]).get(run.pk, 0),
        "created_at": to_seconds(run.created_at),
        "finished_at": to_seconds(run.finished_at),
    }


def build_run_error(principal: Principal, run: Run) -> DifyError:
    """Return why a chat failed, as Dify tells it."""
    steps = Step.objects.visible_to(principal).filter(run=run, node_key=run.error_node)
    error_type = steps.order_by("-id").values_list("error_type", flat=True).first() or ""
    code = RUN_ERROR_CODES.get(error_type, "invalid_param")
    return DifyError(400, code, f"Run failed: {run.error}")


def build_metadata(principal: Principal, run: Run) -> dict[str, Json]:
    """Return usage and sources. Sources whose page is gone are left out: clients expect all of their fields."""
    resources = build_answer_metadata(principal, run)["retriever_resources"]
    return {
        "annotation_reply": None,
        "retriever_resources": [each for each in resources if each["is_available"]],
        "usage": build_usage(run),
        "memory": build_memory(principal, run),
    }


def build_usage(run: Run) -> dict[str, Json]:
    """Return the tokens of a run. Prices are texts; that of the whole run is known after it has been counted."""
    price = _NO_PRICE if run.cost is None else format(run.cost, "f")
    return {
        "prompt_tokens": run.prompt_tokens,
        "prompt_unit_price": _NO_PRICE,
        "prompt_price_unit": _NO_PRICE,
        "prompt_price": _NO_PRICE,
        "completion_tokens": run.completion_tokens,
        "completion_unit_price": _NO_PRICE,
        "completion_price_unit": _NO_PRICE,
        "completion_price": _NO_PRICE,
        "total_tokens": run.total_tokens,
        "total_price": price,
        "currency": CURRENCY,
        "latency": run.elapsed or 0.0,
    }


def build_memory(principal: Principal, run: Run) -> dict[str, Json]:
    """Return which memories the run recalled, wrote and forgot, by their ids. It is an addition of ours.

    ``to_choose`` are those of which the user is to say which one to forget.
    """
    recalled: dict[str, Json] = {}
    changes: dict[str, Json] = {}
    wishes: dict[str, list[Json]] = {MemoryForgotten.name: [], MemoryForgetAsked.name: []}
    names = (MemoryRecalled.name, MemoryWritten.name, MemoryKeptOut.name, *wishes)
    events = selectors.list_events(principal, run, *names).values_list("name", "data")
    for name, data in events:
        if name == MemoryRecalled.name:
            recalled |= {entry["id"]: entry for entry in describe_recalled(data)}
        elif name in wishes:
            wishes[name] += [describe_wish(entry) for entry in data.get("entries") or ()]
        elif (entry := describe_written(name, data)) is not None:
            changes[entry["id"]] = entry
    return {
        "recalled": list(recalled.values())[:_MAX_MEMORIES],
        "written": list(changes.values())[:_MAX_MEMORIES],
        "forgotten": wishes[MemoryForgotten.name][:_MAX_MEMORIES],
        "to_choose": wishes[MemoryForgetAsked.name][:_MAX_MEMORIES],
    }


def describe_recalled(data: Mapping[str, Json]) -> Iterator[dict[str, Json]]:
    for entry in data.get("entries") or ():
        if entry.get("id"):
            store = data.get("namespace") or data.get("scope") or ""
            yield {"id": str(entry["id"]), "store": store, "score": entry.get("score")}


def describe_written(name: str, data: Mapping[str, Json]) -> dict[str, Json] | None:
    """Return what happened to an entry; None for one that the content filter rejected altogether."""
    if name == MemoryKeptOut.name:
        return {"id": data["entry"], "op": "pending_review"} if data.get("entry") else None
    entry = data.get("entry") or {}
    return {"id": str(entry.get("id") or ""), "op": "add"}


def describe_wish(entry: Mapping[str, Json]) -> dict[str, Json]:
    return {"id": str(entry.get("id") or ""), "value": entry.get("value")}


def list_forms(call: Call) -> list[RunWait]:
    """Return the questions that the run waits for, as far as a program may answer them by a token."""
    open_waits = list_open_waits(call.principal, call.run)
    return [wait for wait in open_waits if (wait.form or {}).get("type") != "uncertain"]


def build_form_data(call: Call, wait: RunWait) -> dict[str, Json]:
    """Return a question as the form that Dify's clients show. Its token answers it."""
    form = wait.form or {}
    wait.run = call.run
    return {
        "form_id": str(wait.pk),
        "node_id": wait.node_key,
        "node_title": str(form.get("title") or wait.node_key),
        **describe_form(form),
        "display_in_ui": True,
        "form_token": make_form_token(call.principal, wait),
        "expiration_time": to_seconds(wait.due_at),
    }


def describe_form(form: Mapping[str, Json]) -> dict[str, Json]:
    inputs = [dict(item) for item in form.get("inputs") or ()]
    return {
        "form_content": str(form.get("content") or ""),
        "inputs": [
            {
                "type": item.get("type") or "paragraph",
                "output_variable_name": item.get("name"),
                "label": item.get("label") or item.get("name"),
                "required": item.get("required") is True,
                "options": list(item.get("options") or ()),
                "default": item.get("default"),
            }
            for item in inputs
        ],
        "actions": [
            {"id": action_id, "title": title} for action_id, title in list_actions(form).items()
        ],
        "resolved_default_values": {
            str(item.get("name")): to_text(item.get("default"))
            for item in inputs
            if item.get("default") is not None
        },
    }


def read_answer(run: Run) -> str:
    """Return the text of an answer: a chat's, or the first text among the outputs of a workflow."""
    outputs = run.outputs or {}
    if isinstance(outputs.get("answer"), str):
        return str(outputs["answer"])
    texts = [value for value in outputs.values() if isinstance(value, str)]
    return texts[0] if texts else (json.dumps(outputs, ensure_ascii=False) if outputs else "")


def count_steps(principal: Principal, runs: Sequence[Run]) -> Mapping[object, int]:
    """Return by run how many steps it has carried out."""
    steps: QuerySet[Step] = Step.objects.visible_to(principal).filter(run__in=[r.pk for r in runs])
    counts = steps.exclude(status=StepStatus.SKIPPED).order_by().values("run_id")
    return dict(counts.annotate(count=Count("pk")).values_list("run_id", "count"))


def list_files(value: Json) -> list[Json]:
    """Return the files among values, at any depth."""
    if is_file(value):
        return [value]
    if isinstance(value, Mapping):
        return [file for item in value.values() for file in list_files(item)]
    if isinstance(value, list | tuple):
        return [file for item in value for file in list_files(item)]
    return []


def to_text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
