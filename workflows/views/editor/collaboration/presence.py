"""What a tab says of itself to the others: selection, what is being edited there, the pointer. Nothing is saved."""

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
from workflows.live.seats import make_seat_key
from workflows.views.request_context import workflow_for


CLIENT = re.compile(r"[0-9a-zA-Z-]{8,64}")
MOST_SELECTED = 200

NodeId = Annotated[str, Field(max_length=255)]
Place = Annotated[float, Field(ge=-1e7, le=1e7, allow_inf_nan=False)]


class Cursor(BaseModel):
    model_config = ConfigDict(extra="forbid")

    x: Place
    y: Place


class Presence(BaseModel):
    """Either where the pointer is, or what is chosen; a field that isn't there hasn't changed."""

    model_config = ConfigDict(extra="forbid")

    client: str
    selection: Annotated[list[NodeId], Field(max_length=MOST_SELECTED)] | None = None
    editing: NodeId | None = None
    cursor: Cursor | None = None


@login_required
@require_POST
def presence(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    principal, workflow = workflow_for(request, workflow_id)
    try:
        said = Presence.model_validate_json(strict_json.read_body(request))
    except ValidationError as error:
        raise InvalidChoice(field=".".join(map(str, error.errors()[0]["loc"]))) from error
    key = make_seat_key(principal.user_id, client_of(said.client))
    if said.cursor is not None:
        announce_cursor(workflow.pk, key, {"client": said.client, **said.cursor.model_dump()})
    given = said.model_dump(include=said.model_fields_set & {"selection", "editing"})
    if given:
        announce_card(workflow.pk, key, given)
    return HttpResponse(status=204)


def client_of(text: str) -> str:
    if not CLIENT.fullmatch(text):
        raise InvalidChoice(field="client")
    return text
