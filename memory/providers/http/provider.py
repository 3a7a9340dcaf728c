"""The HTTP provider: each operation is one request. The other installation applies its limits and its clock."""

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from config.net import ExchangeFailed, send_request
from memory.core.entry_codec import PARAMS, to_json
from memory.core.errors import InvalidInput, ProviderAway, ProviderError
from memory.core.filters import parse_filter
from memory.core.policy import NO_LIMITS, MemorySecurityPolicy, check_entry, check_namespace
from memory.core.provider import check_query
from memory.core.records import Json, MemoryEntry, MemoryQuery, StoreParams
from memory.providers.base import MemoryProvider, Usage
from memory.providers.http.answers import get_member, parse_entry, read_answer


TIMEOUT = 10.0
PAGE_SIZE = 200  # entries of one answer
READING_PATHS = ("recall",)  # of POST requests
MAX_ANSWER_BYTES = 64 * 1024 * 1024  # an answer may be a whole namespace


class HttpProvider(MemoryProvider):
    """A provider that uses the memory of a team in another installation, at ``url``.

    ``key`` is an API key of that team with ``memory:read``, ``memory:write`` and ``memory:serve``. ``policy`` restricts
    what is sent; the other installation also applies the team's own policy. An internal address has to be in
    NET_ALLOW or, instead, in ``allow``. Requests are never retried here. While the installation can't be reached, the
    step of a run waits, unless a request to write was sent and got no answer: it may have been done.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        policy: MemorySecurityPolicy = NO_LIMITS,
        timeout: float = TIMEOUT,
        allow: Iterable[str] | None = None,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise InvalidInput("url: must be an http or https address.")
        if not key or not key.isascii() or not key.isprintable():
            raise InvalidInput("key: must be an API key.")
        self._base_url = f"{url.rstrip('/')}/api/v1/memory"
        self._key = key
        self._policy = policy
        self._timeout = timeout
        self._allow = None if allow is None else tuple(allow)

    def store(self, params: StoreParams) -> MemoryEntry:
        check_entry(self._policy, params)
        return parse_entry(self._send_request("POST", "entries", to_json(params, PARAMS)))

    def recall(self, query: MemoryQuery) -> list[MemoryEntry]:
        check_query(query)
        parse_filter(query.filter)
        check_namespace(self._policy, query.namespace)
        body: dict[str, Json] = {
            "namespace": query.namespace,
            "key": query.key,
            "query_text": query.query_text,
            "filter": None if query.filter is None else dict(query.filter),
            "top_k": query.top_k,
            "language": query.language,
            "recency_days": query.recency_days,
            "as_of": query.as_of and query.as_of.isoformat(),
        }
        # An older version of Mnemoflow refuses fields that it does not know.
        if query.min_score is not None:
            body["min_score"] = query.min_score
        if query.valid_at is not None:
            body["valid_at"] = query.valid_at.isoformat()
        if query.include_former:
            body["include_former"] = True
        if query.for_prompt:
            body["for_prompt"] = True
        if query.without_lessons:
            body["without_lessons"] = True
        response = self._send_request("POST", "recall", body)
        return [parse_entry(entry) for entry in get_member(response, "items", list)]

    def delete(self, namespace: str, key: str) -> bool:
        check_namespace(self._policy, namespace)
        response = self._send_request("POST", "forget", {"namespace": namespace, "key": key})
        return bool(get_member(response, "count", int) > 0)

    def clear_namespace(self, namespace: str) -> int:
        check_namespace(self._policy, namespace)
        response = self._send_request("POST", "clear", {"namespace": namespace})
        return int(get_member(response, "count", int))

    def history(self, namespace: str, key: str) -> Sequence[MemoryEntry]:
        check_namespace(self._policy, namespace)
        values: list[MemoryEntry] = []
        cursor: str | None = ""
        while cursor is not None:
            names = {"namespace": namespace, "key": key, "limit": PAGE_SIZE, "cursor": cursor}
            response = self._send_request("GET", f"history?{urlencode(names)}", None)
            values += [parse_entry(entry) for entry in get_member(response, "items", list)]
            cursor = response.get("next")
        return values

    def measure(self, namespace: str) -> Usage:
        """Count the entries, whose bytes the other installation doesn't say."""
        names = urlencode({"namespace": namespace, "limit": 1})
        response = self._send_request("GET", f"entries?{names}", None)
        return Usage(int(get_member(response, "count", int)), None)

    def _send_request(self, method: str, path: str, body: Mapping[str, Json] | None) -> Any:  # JSON
        headers = [("Authorization", f"Bearer {self._key}"), ("Accept", "application/json")]
        if body is not None:
            headers.append(("Content-Type", "application/json"))
        try:
            request = send_request(
                method,
                f"{self._base_url}/{path}",
                headers=headers,
                content=None if body is None else json.dumps(body).encode(),
                limit=lambda _headers: MAX_ANSWER_BYTES,
                max_body=MAX_ANSWER_BYTES,
                timeout=self._timeout,
                allow=self._allow,
            )
            response = asyncio.run(request)  # the client is asynchronous, and threads call this
        except ExchangeFailed as failed:
            is_harmless = not failed.is_sent or method == "GET" or path in READING_PATHS
            if failed.retryable and is_harmless:
                raise ProviderAway(
                    f"The memory provider http can't be reached: {failed}"
                ) from failed
            message = f"The memory provider http did not answer: {failed}"
            raise ProviderError(message, retryable=failed.retryable) from failed
        return read_answer(response.status, response.body)
