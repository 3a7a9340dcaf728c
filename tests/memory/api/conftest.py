"""A programme with a key of Alice's team."""

from typing import Any

import pytest

from accounts.roles import SCOPES
from tests.support.cast import Person


SPEAKS = {*SCOPES, "memory:speak"}


@pytest.fixture
def key(api_key: Any, alice: Person) -> Any:
    return api_key(alice)


@pytest.fixture
def speaker(api_key: Any, alice: Person) -> Any:
    """The key of a programme that may speak for people."""
    return api_key(alice, scopes=SPEAKS)


@pytest.fixture
def send(key: Any, request: pytest.FixtureRequest) -> Any:
    """Send a request with a body in JSON to an address below the ``ROOT`` of the module."""
    root = getattr(request.module, "ROOT", "")

    def send_request(method: str, path: str, body: Any = None, **headers: str) -> Any:
        options: dict[str, Any] = {"headers": headers}
        if body is not None:
            options |= {"data": body, "content_type": "application/json"}
        return getattr(key, method)(root + path, **options)

    return send_request
