"""The two routes of a webhook. A request needs no key: the address is a secret, and the node may ask for more."""

import time
from io import BytesIO
from typing import Final

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.multipartparser import MultiPartParser, MultiPartParserError
from django.utils.translation import gettext as _
from ninja import Router

from accounts.errors import NotFound
from accounts.http.throttles import count_request
from config.redaction import log_redactor
from workflows.engine.triggers.webhooks import MULTIPART, URL_ENCODED
from workflows.errors import CallRefused
from workflows.models import Trigger
from workflows.services.triggers.addresses import find_by_token
from workflows.services.triggers.calls import Answer, receive_call
from workflows.services.triggers.requests import MAX_BYTES, ReceivedCall
from workflows.services.triggers.testing import receive_test_call


router = Router(tags=["hooks"])

METHODS: Final = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]


@router.api_operation(METHODS, "/{token}", summary="Call a webhook", url_name="call")
def call(request: HttpRequest, token: str) -> HttpResponse:
    """Start a run of the published version with the values of this request."""
    trigger = _find_trigger(token)
    return _build_response(receive_call(trigger, _read_call(request)))


@router.api_operation(
    METHODS, "/{token}/test", summary="Make a test call of a webhook", url_name="test_call"
)
def test_call(request: HttpRequest, token: str) -> HttpResponse:
    """Start a run of the draft, while a member waits for this call."""
    trigger = _find_trigger(token)
    return _build_response(receive_test_call(trigger, _read_call(request)))


def _find_trigger(token: str) -> Trigger:
    trigger = find_by_token(token)
    if trigger is None:
        raise NotFound
    log_redactor.add(token)
    state = count_request(f"hook:{trigger.pk}", settings.API_REQUESTS_PER_MINUTE, time.time())
    if state.is_exceeded:
        raise CallRefused(_("Too many calls of this webhook. Wait a minute."), status=429)
    return trigger


def _read_call(request: HttpRequest) -> ReceivedCall:
    """Return the request as plain values. The body is read before anything of it is parsed, because it may be signed."""
    body = _read_body(request)
    content_type = (request.content_type or "").strip().lower()
    form, files = _read_form(request, content_type, body)
    return ReceivedCall(
        method=request.method or "",
        content_type=content_type,
        body=body,
        headers=dict(request.headers),
        query=request.GET.dict(),
        form=form,
        files=files,
    )


def _read_form(
    request: HttpRequest, content_type: str, body: bytes
) -> tuple[dict[str, str], dict[str, "UploadedFile[bytes]"]]:
    """Return the fields and the files of a form. Django reads one by itself only from a POST request."""
    if content_type == URL_ENCODED:
        return QueryDict(body).dict(), {}
    if content_type != MULTIPART:
        return {}, {}
    try:
        parser = MultiPartParser(request.META, BytesIO(body), request.upload_handlers)
        fields, files = parser.parse()
    except (MultiPartParserError, TooManyFieldsSent, TooManyFilesSent) as error:
        raise CallRefused(_("The form can't be read."), status=400) from error
    uploads = {name: file for name, file in files.items() if isinstance(file, UploadedFile)}
    return {name: str(value) for name, value in fields.items()}, uploads


def _read_body(request: HttpRequest) -> bytes:
    too_large = CallRefused(
        _("The body is too large: %(limit)s KB at most.") % {"limit": MAX_BYTES // 1024},
        status=413,
    )
    length = request.headers.get("Content-Length", "")
    if length.isdigit() and int(length) > MAX_BYTES:
        raise too_large
    try:
        return request.body
    except RequestDataTooBig as error:
        raise too_large from error


def _build_response(answer: Answer) -> HttpResponse:
    response = HttpResponse(answer.body, status=answer.status, content_type=answer.content_type)
    # The author draws the body; a browser that shows it must not run it.
    response["Content-Security-Policy"] = "sandbox; default-src 'none'"
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "no-store"
    if answer.run_id is not None:
        response["X-Run-Id"] = str(answer.run_id)
    if answer.is_replayed:
        response["Idempotent-Replayed"] = "true"
    return response
