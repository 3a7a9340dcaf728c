"""The engine's HTTP port over the guarded client."""

import json
from collections.abc import Iterable
from typing import Any, Final

from config import net
from config.net.backends import Resolver
from workflows.engine.errors import HttpFailed, NodeFailed
from workflows.engine.http_responses import is_declared_file
from workflows.engine.ports import HttpRequest, HttpResponse


_IDEMPOTENCY: Final = "Idempotency-Key"


class GuardedHttp:
    """Implements ``engine.ports.HttpPort``. It keeps no connection, so any event loop may use it.

    In tests, ``allow`` and ``resolver`` replace the operator's list of allowed hosts and the system's name lookup.
    """

    def __init__(
        self, *, allow: Iterable[str] | None = None, resolver: Resolver | None = None
    ) -> None:
        self._net_options: dict[str, Any] = {"allow": allow, "resolver": resolver}

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send the request. Raises HttpFailed, or NodeFailed for a response that is too large."""

        def get_size_limit(headers: Any) -> int:
            is_text = is_declared_file(headers) is False
            return request.max_text_bytes if is_text else request.max_binary_bytes

        try:
            response = await net.send_request(
                request.method,
                request.url,
                headers=_build_headers(request),
                params=request.params or (),
                content=_build_content(request),
                form=request.form,
                files=[
                    net.FormFile(file.field, file.name, file.content, file.mime_type)
                    for file in request.files
                ],
                multipart=request.multipart,
                limit=get_size_limit,
                max_body=max(request.max_text_bytes, request.max_binary_bytes),
                timeout=request.timeout_seconds,
                idle=request.idle_seconds,
                connect=request.connect_seconds,
                verify=request.verify_tls,
                **self._net_options,
            )
        except net.ExchangeFailed as failed:
            if failed.too_large:
                raise NodeFailed("ResponseSizeError", str(failed)) from None
            raise HttpFailed(str(failed), retryable=failed.retryable) from None
        return HttpResponse(response.status, response.headers, response.body, response.url)


def _build_headers(request: HttpRequest) -> list[tuple[str, str]]:
    headers = list(request.headers)
    key = request.idempotency_key
    if key is not None and all(name.lower() != _IDEMPOTENCY.lower() for name, _ in headers):
        headers.append((_IDEMPOTENCY, key))
    return headers


def _build_content(request: HttpRequest) -> bytes | None:
    if not request.has_json:
        return request.content
    return json.dumps(request.json_value, ensure_ascii=False, allow_nan=False).encode(
        "utf-8", "replace"
    )
