"""Under ASGI an address is looked up once, whichever chain answers it."""

from io import BytesIO

import pytest
from django.core.handlers.asgi import ASGIRequest
from django.urls import URLResolver

from config.http.handler import Handler


@pytest.fixture
def lookups(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was asked of the root of all addresses."""
    found: list[str] = []
    resolve = URLResolver.resolve

    def counted(self, path):
        if path.startswith("/"):
            found.append(path)
        return resolve(self, path)

    monkeypatch.setattr(URLResolver, "resolve", counted)
    return found


async def ask(path: str):
    scope = {"type": "http", "method": "GET", "path": path, "headers": [(b"host", b"localhost")]}
    return await Handler().get_response_async(ASGIRequest(scope, BytesIO()))


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/favicon.ico", 302),
        ("/workflows/00000000-0000-0000-0000-000000000000/live/", 302),
    ],
)
async def test_request_is_resolved_once_in_both_chains(lookups, path, status):
    answer = await ask(path)

    assert (answer.status_code, lookups) == (status, [path])


@pytest.mark.django_db
async def test_address_that_is_nowhere_is_not_found():
    assert (await ask("/nowhere/at/all")).status_code == 404
