"""Announces a tab's selection, edited node and pointer to the other people in the draft. Nothing is saved."""

import re
from typing import Annotated
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from accounts.errors import InvalidChoice
from config.http import strict_json
from workflows.live.announce import announce_card, announce_cursor
from workflows.live.tabs import build_tab_key
from workflows.views.request_context import find_workflow


CLIENT_PATTERN = re.compile(r"[0-9a-zA-Z-]{8,64}")
MAX_SELECTED = 200

NodeId = Annotated[str, Field(max_length=255)]
Coordinate = Annotated[float, Field(ge=-1e7, le=1e7, allow_inf_nan=False)]


class Cursor(BaseModel):
    model_config = ConfigDict(extra="forbid")

    x: Coordinate
    y: Coordinate


class PresenceUpdate(BaseModel):
    """A tab's pointer, selection or edited node; a missing field has not changed."""

    model_config = ConfigDict(extra="forbid")

    client: str
    selection: Annotated[list[NodeId], Field(max_length=MAX_SELECTED)] | None = None
    editing: NodeId | None = None
    cursor: Cursor | None = None


@login_required
@require_POST
def presence(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    principal, workflow = find_workflow(request, workflow_id)
    try:
        update = PresenceUpdate.model_validate_json(strict_json.read_body(request))
    except ValidationError as error:
        raise InvalidChoice(field=".".join(map(str, error.errors()[0]["loc"]))) from error
    tab_key = build_tab_key(principal.user_id, validate_client(update.client))
    if update.cursor is not None:
        announce_cursor(
            workflow.pk, tab_key, {"client": update.client, **update.cursor.model_dump()}
        )
    card = update.model_dump(include=update.model_fields_set & {"selection", "editing"})
    if card:
        announce_card(workflow.pk, tab_key, card)
    return HttpResponse(status=204)


def validate_client(client: str) -> str:
    """Return the tab's id; raise InvalidChoice if it is malformed."""
    if not CLIENT_PATTERN.fullmatch(client):
        raise InvalidChoice(field="client")
    return client
