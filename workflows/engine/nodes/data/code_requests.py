"""Sends the HTTP requests of code: each run of the code ends at its next request, until it has all responses.

Everything in a request comes from untrusted code. It goes through the run's HTTP port with its guard, carries no
credentials but those that the code writes into it, and is limited in number, size and time.
"""

import base64
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final
from urllib.parse import urlencode

from workflows.engine.errors import CodeFailed, EngineFault, PortMissing
from workflows.engine.kinds import NodeContext
from workflows.engine.language.document import Json
from workflows.engine.language.values import is_number
from workflows.engine.ports import CodePort, CodeRequest, CodeResult, HttpPort, HttpRequest


MAX_REQUESTS: Final = 10
MAX_SECONDS: Final = 30.0  # of one request
DEFAULT_SECONDS: Final = 10.0
MAX_BYTES: Final = 500_000  # of a response
METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"})
_FORM: Final = "application/x-www-form-urlencoded"


async def run_code(port: CodePort, request: CodeRequest, ctx: NodeContext) -> CodeResult:
    """Run the code, and run it again after each of its HTTP requests. Raises CodeFailed for too many.

    Its outputs are untrusted from the first request on, however the code has imported the module.
    """
    result = await port.run(request)
    while result.call is not None:
        if len(request.responses) >= MAX_REQUESTS:
            raise CodeFailed(f"The code sends more than {MAX_REQUESTS} HTTP requests")
        if ctx.ports.http is None:
            raise PortMissing("http")
        ctx.record_untrusted_keys(["requests"])
        key = f"{ctx.origin.idempotency_key}:{len(request.responses)}"
        response = await _send(ctx.ports.http, result.call, key)
        request = replace(request, responses=(*request.responses, response))
        result = await port.run(request)
    return result


async def _send(port: HttpPort, call: Mapping[str, Json], key: str) -> Mapping[str, Json]:
    """Return the response for the code, or the error that its call is to raise."""
    try:
        request = _build_request(call, key)
        response = await port.send(request)
    except EngineFault as fault:
        return {"error": fault.message}
    text = response.body.decode("utf-8", "replace")
    is_text = text.encode() == response.body
    return {
        "status": response.status,
        "url": response.url or request.url,
        "headers": [[name, value] for name, value in response.headers.items()],
        "text": text,
        "content": None if is_text else base64.b64encode(response.body).decode(),
    }


def _build_request(call: Mapping[str, Json], key: str) -> HttpRequest:
    method, url = call.get("method"), call.get("url")
    if method not in METHODS or not isinstance(url, str):
        raise CodeFailed(f"Requests can't be sent by the method {method}")
    headers = list(_iter_pairs(call.get("headers")))
    auth = call.get("auth")
    if isinstance(auth, list) and len(auth) == 2:
        token = base64.b64encode(f"{auth[0]}:{auth[1]}".encode()).decode()
        headers.append(("Authorization", f"Basic {token}"))
    content, content_type = _build_body(call.get("data"))
    if content is not None and not any(name.lower() == "content-type" for name, _ in headers):
        headers.append(("Content-Type", content_type))
    timeout = call.get("timeout")
    seconds = DEFAULT_SECONDS if timeout is None or not is_number(timeout) else float(timeout)
    return HttpRequest(
        method=method,
        url=url,
        headers=headers,
        params=list(_iter_pairs(call.get("params"))),
        content=content,
        json_value=call.get("json"),
        has_json=content is None and call.get("json") is not None,
        timeout_seconds=min(seconds, MAX_SECONDS),
        max_text_bytes=MAX_BYTES,
        max_binary_bytes=MAX_BYTES,
        idempotency_key=None if method in ("GET", "HEAD") else key,
    )


def _build_body(data: Json) -> tuple[bytes | None, str]:
    """Return the body and its type: text as it is, and values as the fields of a form."""
    if data is None:
        return None, ""
    if isinstance(data, str):
        return data.encode("utf-8", "replace"), "text/plain"
    return urlencode(list(_iter_pairs(data))).encode(), _FORM


def _iter_pairs(values: Json) -> Iterator[tuple[str, str]]:
    """Yield names and values of an object or of a list of pairs. A list of values gives its name once for each."""
    items = values.items() if isinstance(values, Mapping) else values
    for item in items if values else ():
        if not isinstance(item, list | tuple) or len(item) != 2:
            continue
        name, value = item
        for single in value if isinstance(value, list) else [value]:
            if single is not None:
                yield str(name), str(single)
