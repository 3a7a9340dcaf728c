"""Start one run for a message, however often its form is sent: a double click, or a connection that breaks, sends it again."""

import hashlib
import json
from collections.abc import Callable
from typing import Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from accounts.principals import Principal
from workflows.errors import KeyInUse
from workflows.models import Run
from workflows.services import idempotency
from workflows.services.idempotency import ClaimedKey, StoredAnswer
from workflows.views.request_context import is_htmx


MESSAGE_ID: Final = "sys.message_id"  # the field with the id that a form was drawn with
_CSRF_TOKEN: Final = "csrfmiddlewaretoken"  # noqa: S105  # the name of a field

Send = Callable[[], tuple[HttpResponse, Run | None]]


def send_once(
    request: HttpRequest, principal: Principal, team_id: UUID, *, page_url: str, send: Send
) -> HttpResponse:
    """Send the message of the form unless it was sent before. ``send`` returns no run if the message was refused.

    A repeated message leads to its conversation. While the first one is still being handled, a repetition changes nothing.
    """
    if not request.POST.get(MESSAGE_ID):
        return send()[0]
    try:
        digest = _compute_digest(request)
        claimed = idempotency.claim_key(
            principal, team_id, key=_build_key(request, digest), digest=digest
        )
    except KeyInUse:
        return HttpResponse(status=204) if is_htmx(request) else redirect(page_url)
    if isinstance(claimed, StoredAnswer):
        return _lead_to(request, claimed.body)
    return _send_claimed(claimed, send)


def _send_claimed(claimed: ClaimedKey, send: Send) -> HttpResponse:
    """Send the message, and note where it went. One that was refused may be sent again."""
    try:
        response, run = send()
    except Exception:
        idempotency.release_key(claimed)
        raise
    if run is None:
        idempotency.release_key(claimed)
    else:
        url = response.headers.get("HX-Replace-Url") or response.headers["Location"]
        idempotency.store_answer(claimed, status=response.status_code, body=url, object_id=run.pk)
    return response


def _lead_to(request: HttpRequest, url: str) -> HttpResponse:
    if not is_htmx(request):
        return redirect(url)
    return HttpResponse(status=204, headers={"HX-Redirect": url})


def _build_key(request: HttpRequest, digest: str) -> str:
    """Return a key of the id and of what was sent, so that a form that a browser restored can send another message."""
    message_id = request.POST[MESSAGE_ID]
    text = f"{request.path} {message_id} {digest}"
    return f"message {hashlib.sha256(text.encode()).hexdigest()}"


def _compute_digest(request: HttpRequest) -> str:
    names = sorted(set(request.POST) - {MESSAGE_ID, _CSRF_TOKEN})
    values = {name: request.POST.getlist(name) for name in names}
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()
