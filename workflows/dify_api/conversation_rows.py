"""Conversations and their variables as Dify's clients know them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from uuid import NAMESPACE_OID, UUID, uuid5

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce

from accounts.principals import Principal
from workflows.dify_api.answers import to_text
from workflows.dify_api.apps import App
from workflows.dify_api.bodies import ConversationsQuery, VariablesQuery
from workflows.dify_api.calls import to_seconds
from workflows.dify_api.errors import DifyError, parse_uuid, refuse_as_missing
from workflows.engine.language.document import Json, VariableSpec
from workflows.engine.language.values import infer_type, matches, parse_type
from workflows.models import Conversation, Message, Run
from workflows.services.chat import conversations
from workflows.services.runs.runs import Subject


UNNAMED: Final = "New conversation"
_TIMES: Final[Mapping[str, str]] = {"created_at": "created_at", "updated_at": "updated"}


@dataclass(frozen=True, slots=True)
class Variable:
    """A conversation variable: as the published version declares it, with the value in this conversation."""

    id: str
    name: str
    type: str
    value: Json
    description: str


def list_page(app: App, subject: Subject, query: ConversationsQuery) -> dict[str, Json]:
    """Return a page of the person's conversations, after the one with ``last_id``."""
    column = _TIMES[query.sort_by.removeprefix("-")]
    is_descending = query.sort_by.startswith("-")
    rows = _list_rows(app, subject)
    if query.last_id:
        rows = rows.filter(_match_after(rows, query.last_id, column, is_descending))
    order = (F(column).desc(), F("pk").desc()) if is_descending else (F(column), F("pk"))
    page = list(rows.order_by(*order)[: query.limit + 1])
    rows_of_page = page[: query.limit]
    inputs = _load_inputs(app.principal, rows_of_page)
    return {
        "limit": query.limit,
        "has_more": len(page) > query.limit,
        "data": [describe(app, row, inputs.get(row.pk, {})) for row in rows_of_page],
    }


def describe(app: App, row: Conversation, inputs: Mapping[str, Json] | None = None) -> Json:
    if inputs is None:
        inputs = _load_inputs(app.principal, [row]).get(row.pk, {})
    return {
        "id": row.key,
        "name": row.name or UNNAMED,
        "inputs": dict(inputs),
        "status": "normal",
        "introduction": str(app.document.features.get("opening_statement") or ""),
        "created_at": to_seconds(row.created_at),
        "updated_at": to_seconds(row.last_message_at or row.created_at),
    }


def generate_name(app: App, row: Conversation) -> str:
    """Return a name made from the first message."""
    messages = Message.objects.visible_to(app.principal).filter(conversation=row)
    query = messages.order_by("number").values_list("query", flat=True).first() or ""
    return " ".join(query.split())[: conversations.MAX_NAME_LENGTH] or UNNAMED


def leave_unnamed(principal: Principal, run: Run) -> None:
    """Give the conversation that a run has opened no name made from its message."""
    if run.conversation is not None:
        conversations.rename(principal, conversation=run.conversation, name=UNNAMED)


def list_variables(app: App, row: Conversation) -> list[Variable]:
    """Return the variables that the published version declares; the values are those of the conversation."""
    return [
        Variable(
            _make_id(row, spec), spec.name, spec.value_type,
            row.variables.get(spec.name, spec.value), spec.description,
        )
        for spec in app.document.conversation
        if not spec.is_secret
    ]  # fmt: skip


def list_variable_page(app: App, row: Conversation, query: VariablesQuery) -> dict[str, Json]:
    variables = [
        each
        for each in list_variables(app, row)
        if not query.variable_name or each.name == query.variable_name
    ]
    if query.last_id:
        ids = [each.id for each in variables]
        if query.last_id not in ids:
            raise refuse_as_missing("Conversation Variable Not Exists.")
        variables = variables[ids.index(query.last_id) + 1 :]
    return {
        "limit": query.limit,
        "has_more": len(variables) > query.limit,
        "data": [describe_variable(row, each) for each in variables[: query.limit]],
    }


def change_variable(app: App, row: Conversation, variable_id: str, value: Json) -> Json:
    """Store the value of a variable. Raises DifyError for a value of another type."""
    variable = next((each for each in list_variables(app, row) if each.id == variable_id), None)
    if variable is None:
        raise refuse_as_missing("Conversation Variable Not Exists.")
    value_type = parse_type(variable.type)
    if value_type is not None and not matches(value, value_type):
        message = f"{variable.name} is a {variable.type}, and the value is a {infer_type(value)}."
        raise DifyError(400, "bad_request", message, "value")
    conversations.change_variables(app.principal, conversation=row, values={variable.name: value})
    changed = Variable(variable_id, variable.name, variable.type, value, variable.description)
    return describe_variable(row, changed)


def describe_variable(row: Conversation, variable: Variable) -> Json:
    """Return a variable. Its value is a text, or the JSON of any other value, as clients expect."""
    return {
        "id": variable.id,
        "name": variable.name,
        "value_type": variable.type,
        "value": "" if variable.value is None else to_text(variable.value),
        "description": variable.description,
        "created_at": to_seconds(row.created_at),
        "updated_at": to_seconds(row.last_message_at or row.created_at),
    }


def _list_rows(app: App, subject: Subject) -> QuerySet[Conversation]:
    rows = Conversation.objects.visible_to(app.principal).filter(
        workflow=app.workflow, subject=subject.id, archived_at=None, last_message_at__isnull=False
    )
    return rows.annotate(updated=Coalesce("last_message_at", "created_at"))


def _match_after(rows: QuerySet[Conversation], last_id: str, column: str, is_descending: bool) -> Q:
    last = rows.filter(key=last_id).first() if parse_uuid(last_id) else None
    if last is None:
        raise refuse_as_missing("Last Conversation Not Exists.")
    way, time = ("lt" if is_descending else "gt"), getattr(last, column)
    return Q(**{f"{column}__{way}": time}) | Q(**{column: time, f"pk__{way}": last.pk})


def _load_inputs(principal: Principal, rows: list[Conversation]) -> Mapping[UUID, Json]:
    """Return the inputs of the newest turn of each conversation."""
    runs = Run.objects.visible_to(principal).filter(conversation__in=[row.pk for row in rows])
    newest = runs.order_by("conversation_id", "-created_at", "-pk").distinct("conversation_id")
    return dict(newest.values_list("conversation_id", "inputs"))


def _make_id(row: Conversation, spec: VariableSpec) -> str:
    """Return the id of a variable in this conversation. Declared ids are those of all conversations."""
    return str(uuid5(NAMESPACE_OID, f"{row.pk}:{spec.name}"))
