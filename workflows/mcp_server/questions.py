"""The questions of a paused run as forms that an MCP client shows to a person, and the answers that it brings back."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext as _
from mcp import types

from workflows import permissions
from workflows.engine.errors import InputRejected
from workflows.engine.runtime.waits import is_uncertain, list_actions
from workflows.errors import WorkflowFault
from workflows.mcp_server.callers import Caller
from workflows.mcp_server.faults import describe_fault
from workflows.models import Run, RunWait
from workflows.models.run import RunStatus
from workflows.services.runs.waits import answer_wait, list_open_waits


Json = Any  # JSON
Answers = Mapping[str, types.InputResponse]
Problems = Mapping[str, str]  # what is wrong with an answer, by the id of its question

_ACTION: Final = "action"  # the field in which the person chooses a button
_FIELD_PLACE: Final = re.compile(r"\{\{#\$output\.[^#}]*#\}\}")


def can_ask(capabilities: types.ClientCapabilities | None) -> bool:
    """Return whether a client shows forms. One that names no kind of question does: it was the first kind that there was."""
    elicitation = capabilities.elicitation if capabilities else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def list_questions(
    caller: Caller, run: Run, problems: Problems | None = None
) -> dict[str, types.InputRequest]:
    """Return what a paused run asks the caller and such a form can hold, by the ids of the questions."""
    requests: dict[str, types.InputRequest] = {}
    if run.status != RunStatus.PAUSED:
        return requests
    for wait in list_open_waits(caller.principal, run):
        may_answer = permissions.may_answer_question(caller.principal, wait)
        if is_uncertain(wait.form) or not may_answer:
            continue
        if params := _build_form(wait, (problems or {}).get(str(wait.pk), "")):
            requests[str(wait.pk)] = types.ElicitRequest(params=params)
    return requests


def store_answers(caller: Caller, run: Run, answers: Answers) -> tuple[int | None, Problems]:
    """Store what the person accepted. Return the last event before the run goes on, and what is wrong with answers.

    It doesn't go on, and the event is None, if no answer was stored. A question that somebody has answered meanwhile, and
    one that isn't this run's, is passed over.
    """
    after: int | None = None
    problems: dict[str, str] = {}
    forms = {str(wait.pk): wait.form or {} for wait in list_open_waits(caller.principal, run)}
    for key, response in answers.items():
        if key not in forms or not isinstance(response, types.ElicitResult):
            continue
        if response.action != "accept":
            continue
        values, action = _read_answer(forms[key], response)
        try:
            wait = answer_wait(
                caller.principal, run, wait_id=UUID(key), values=values, action=action
            )
        except InputRejected as rejected:
            problems[key] = describe_fault(rejected) or ""
        except WorkflowFault:
            continue
        else:
            after = wait.run.last_seq
    return after, problems


def _build_form(wait: RunWait, problem: str) -> types.ElicitRequestFormParams | None:
    """Return the form of a question, or None if it requires a field that no such form has, such as a file."""
    form = wait.form or {}
    properties: dict[str, Json] = {}
    required: list[str] = []
    for item in form.get("inputs") or ():
        name, build = str(item.get("name")), _BUILDERS.get(str(item.get("type") or "paragraph"))
        if build is None and item.get("required") is True:
            return None
        if build is not None:
            properties[name] = {**build(item), **_describe_field(item)}
            required += [name] if item.get("required") is True else []
    actions = list_actions(form)
    if len(actions) > 1:
        name = _name_action(form)
        choices = [{"const": id_, "title": title} for id_, title in actions.items()]
        properties[name] = {"type": "string", "title": _("Action"), "oneOf": choices}
        required.append(name)
    content = _FIELD_PLACE.sub("", str(form.get("content") or "")).strip()
    message = "\n\n".join(filter(None, (problem, content or _("The run waits for an answer."))))
    schema = {"type": "object", "properties": properties, "required": required}
    return types.ElicitRequestFormParams(message=message, requested_schema=schema)


def _describe_field(item: Mapping[str, Json]) -> dict[str, Json]:
    label, default = item.get("label"), item.get("default")
    described: dict[str, Json] = {"title": str(label)} if label else {}
    if isinstance(default, str | int | float | bool) and default != "":
        described["default"] = default
    return described


def _build_text(item: Mapping[str, Json]) -> dict[str, Json]:
    limit = item.get("max_length")
    return {"type": "string", **({"maxLength": limit} if isinstance(limit, int) and limit else {})}


def _build_choice(item: Mapping[str, Json]) -> dict[str, Json]:
    return {"type": "string", "enum": [str(option) for option in item.get("options") or ()]}


_BUILDERS: Final[Mapping[str, Callable[[Mapping[str, Json]], dict[str, Json]]]] = {
    **dict.fromkeys(("text-input", "paragraph", "string"), _build_text),
    "select": _build_choice,
    "number": lambda _item: {"type": "number"},
    **dict.fromkeys(("checkbox", "boolean"), lambda _item: {"type": "boolean"}),
}


def _name_action(form: Mapping[str, Json]) -> str:
    """Return the name of the field for the button, which no other field has."""
    names = {str(item.get("name")) for item in form.get("inputs") or ()}
    return _ACTION if _ACTION not in names else f"{_ACTION}_of_form"


def _read_answer(
    form: Mapping[str, Json], response: types.ElicitResult
) -> tuple[dict[str, Json], str]:
    values = {name: value for name, value in (response.content or {}).items() if value is not None}
    actions = list_actions(form)
    action = str(values.pop(_name_action(form), "")) if len(actions) > 1 else ""
    return values, action
