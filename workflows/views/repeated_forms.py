"""Start something once, however often its form is sent: a double click, or a connection that breaks, sends it again.

A form is drawn with an id of its own (``{% form_id_field %}``), which is the idempotency key of what it starts.
"""

import hashlib
import json
from collections.abc import Callable
from typing import Final
from uuid import UUID

from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from accounts.principals import Principal
from workflows.errors import KeyInUse
from workflows.services import idempotency
from workflows.services.idempotency import ClaimedKey, StoredAnswer
from workflows.templatetags.form_ids import FIELD
from workflows.views.request_context import is_htmx


PATIENCE: Final = 2_000  # milliseconds that a repetition waits for the first form
_CSRF_TOKEN: Final = "csrfmiddlewaretoken"  # noqa: S105  # the name of a field

Send = Callable[[], tuple[HttpResponse, Model | None]]
Show = Callable[[UUID], HttpResponse]


def send_once(
    request: HttpRequest,
    principal: Principal,
    team_id: UUID,
    *,
    page_url: str,
    send: Send,
    show: Show | None = None,
) -> HttpResponse:
    """Handle the form unless it was sent before. ``send`` returns no object if the form was refused.

    A repetition waits for the first form, and is answered with ``show`` of the id of the object, by default with the
    address to which the first one led. If the first one takes too long, it changes nothing and leads to ``page_url``.
    """
    if not request.POST.get(FIELD):
        return send()[0]
    try:
        digest = _compute_digest(request)
        claimed = idempotency.claim_key(
            principal,
            team_id,
            key=_build_key(request, digest),
            digest=digest,
            patience=PATIENCE,
        )
    except KeyInUse:
        return HttpResponse(status=204) if is_htmx(request) else redirect(page_url)
    if isinstance(claimed, ClaimedKey):
        return _send_claimed(claimed, send)
    return _repeat(request, claimed, show)


def _send_claimed(claimed: ClaimedKey, send: Send) -> HttpResponse:
    """Handle the form, and note where it led. One that was refused may be sent again."""
    try:
        response, started = send()
    except Exception:
        idempotency.release_key(claimed)
        raise
    if started is None:
        idempotency.release_key(claimed)
    else:
        url = response.headers.get("HX-Replace-Url") or response.headers.get("Location", "")
        idempotency.store_answer(
            claimed, status=response.status_code, body=url, object_id=started.pk
        )
    return response


def _repeat(request: HttpRequest, first: StoredAnswer, show: Show | None) -> HttpResponse:
    if show is not None and first.object_id is not None:
        return show(first.object_id)
    if not is_htmx(request):
        return redirect(first.body)
    return HttpResponse(status=204, headers={"HX-Redirect": first.body})


def _build_key(request: HttpRequest, digest: str) -> str:
    """Return a key of the id and of what was sent, so that a form that a browser restored can send something else."""
    text = f"{request.path} {request.POST[FIELD]} {digest}"
    return f"form {hashlib.sha256(text.encode()).hexdigest()}"


def _compute_digest(request: HttpRequest) -> str:
    names = sorted(set(request.POST) - {FIELD, _CSRF_TOKEN})
    values = {name: request.POST.getlist(name) for name in names}
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()
