"""The ``Idempotency-Key`` of routes that start something: the decorator of such routes, and the digest of a request."""

import hashlib
import json
from collections.abc import Callable, Iterable
from functools import partial, wraps
from typing import Any, Final, TypeVar
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import get_script_prefix
from ninja.decorators import decorate_view
from ninja.operation import Operation
from ninja.utils import contribute_operation_callback
from pydantic import TypeAdapter

from accounts.http.middleware import has_own_tenant
from accounts.principals import get_current_team_id, get_principal
from config.http import strict_json
from workflows import sse
from workflows.services import idempotency
from workflows.services.idempotency import ClaimedKey, StoredAnswer


HEADER: Final = "Idempotency-Key"
REPLAYED: Final = "Idempotent-Replayed"  # of an answer that was given before
_ATTRIBUTE: Final = "_idempotency_key"
_ACCEPTS_KEY: Final = "accepts_idempotency_key"
_OBJECT_FIELDS: Final = ("run", "run_id", "id")  # of answers, the first one counts

_PARAMETER: Final = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "description": (
        "Your own name for this request, for example a UUID. For a day, the same request with the same key has no "
        f"further effect and gets the first answer again, with the header {REPLAYED}: true. Another request with the "
        "key is answered with 422, and with 409 (retryable) while the first one is still being handled."
    ),
    "schema": {"type": "string", "minLength": 1, "maxLength": idempotency.MAX_KEY},
}

View = TypeVar("View", bound=Callable[..., Any])


def accept_idempotency_key(view: View) -> View:
    """Decorate a route, below its router's decorator, so that a repeated request with the same key has no further effect.

    A view that opens its own tenant is marked as such below this decorator. It calls ``find_first_answer`` in the
    transaction that does its work, and ``store_first_answer`` at the end of this transaction.
    """
    decorated = view if has_own_tenant(view) else _claim_before(view)
    setattr(decorated, _ACCEPTS_KEY, True)
    contribute_operation_callback(decorated, _decorate_operation)
    return decorated  # type: ignore[return-value]  # it takes what the view takes


def accept_streamed_idempotency_key(view: View) -> View:
    """Decorate a route that claims the key and stores its answer by itself, because the answer may be a stream."""
    setattr(view, _ACCEPTS_KEY, True)
    return view


def accepts_idempotency_key(operation: Operation) -> bool:
    return bool(getattr(operation.view_func, _ACCEPTS_KEY, False))


def find_first_answer(request: HttpRequest) -> HttpResponse | None:
    """Claim the key of the request, or return the first answer to it. Return None for a request without a key."""
    key = request.headers.get(HEADER)
    if key is None:
        return None
    claimed = idempotency.claim_key(
        get_principal(request),
        get_current_team_id(request),
        key=idempotency.check_key(key),
        digest=compute_digest(request),
    )
    if isinstance(claimed, StoredAnswer):
        return HttpResponse(
            claimed.body,
            status=claimed.status,
            content_type="application/json; charset=utf-8",
            headers={REPLAYED: "true"},
        )
    setattr(request, _ATTRIBUTE, claimed)
    return None


def store_first_answer(request: HttpRequest, schema: Any, value: object) -> None:
    """Store an answer with status 202, for a request that is repeated before its final answer is there."""
    claimed: ClaimedKey | None = getattr(request, _ATTRIBUTE, None)
    if claimed is None:
        return
    adapter: TypeAdapter[Any] = TypeAdapter(schema)
    body = adapter.dump_json(adapter.validate_python(value, from_attributes=True)).decode()
    idempotency.store_answer(claimed, status=202, body=body, object_id=_find_object_id(body))


def compute_digest(request: HttpRequest, header_names: Iterable[str] = ()) -> str:
    """Return the digest of method, address, body and these headers; the order of a body's keys doesn't matter.

    OpenAI's routes have two addresses, and a client may repeat a request at the other one.
    """
    body = request.body
    try:
        value = strict_json.loads(body) if body else None
        text = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
    except strict_json.NotStrictJson:
        text = body
    prefix = get_script_prefix()
    address = request.get_full_path()
    if address.startswith(f"{prefix}openai/"):
        address = prefix + address.removeprefix(f"{prefix}openai/")
    headers = [
        f"{name}: {request.headers[name]}" for name in header_names if name in request.headers
    ]
    head = "\n".join([f"{request.method} {address}", *headers, ""]).encode()
    return hashlib.sha256(head + text).hexdigest()


def _claim_before(view: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(view)
    def handle_once(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        answer = find_first_answer(request)
        if answer is not None:
            return answer
        try:
            return view(request, *args, **kwargs)
        except Exception:
            claimed: ClaimedKey | None = getattr(request, _ATTRIBUTE, None)
            if claimed is not None:
                delattr(request, _ATTRIBUTE)
                idempotency.release_key(claimed)
            raise

    return handle_once


def _decorate_operation(operation: Operation) -> None:
    """Let the operation store its answers, and describe the header."""
    extra = dict(operation.openapi_extra or {})
    operation.openapi_extra = {**extra, "parameters": [*extra.get("parameters", ()), _PARAMETER]}
    store = _store_separately if has_own_tenant(operation.view_func) else _store
    view: Any = _Decorated(operation)  # Any: no view, but what ``decorate_view`` reads of one
    decorate_view(partial(_store_after, store))(view)


class _Decorated:
    """Stands for a view whose operation exists, which ``decorate_view`` decorates at once."""

    def __init__(self, operation: Operation) -> None:
        self._ninja_operation = operation


def _store_after(
    store: Callable[[HttpRequest, HttpResponseBase], None], run: Callable[..., HttpResponseBase]
) -> Callable[..., HttpResponseBase]:
    def run_and_store(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        response = run(request, **kwargs)
        if hasattr(request, _ATTRIBUTE):
            store(request, response)
        return response

    return _bind(run_and_store, run)


def _bind(decorated: Callable[..., Any], run: Callable[..., Any]) -> Callable[..., Any]:
    """Tell the operation of ``run`` to the decorators around, such as ``refuse_unknown_parameters``."""
    operation = getattr(run, "__self__")  # noqa: B009  # run is a method of Ninja's Operation
    setattr(decorated, "__self__", operation)  # noqa: B010
    return decorated


def _store_separately(request: HttpRequest, response: HttpResponseBase) -> None:
    with sse.close_connections():
        _store(request, response)


def _store(request: HttpRequest, response: HttpResponseBase) -> None:
    """Store the answer of a request that claimed its key and succeeded."""
    claimed: ClaimedKey | None = getattr(request, _ATTRIBUTE, None)
    if claimed is None or response.status_code >= 300 or not isinstance(response, HttpResponse):
        return
    body = response.content.decode()
    idempotency.store_answer(
        claimed, status=response.status_code, body=body, object_id=_find_object_id(body)
    )


def _find_object_id(body: str) -> UUID | None:
    """Return the id of the run or task that an answer is about."""
    value = json.loads(body) if body else None
    if not isinstance(value, dict):
        return None
    text = next((value[name] for name in _OBJECT_FIELDS if value.get(name)), None)
    return UUID(text) if isinstance(text, str) else None
