"""Real servers on 127.0.0.1, which the operator's list allows in these tests."""

import pytest

from config import net


@pytest.fixture
def loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow every port of 127.0.0.1, as NET_ALLOW=127.0.0.1:* does."""
    allowed = net.parse_allowed(["127.0.0.1:*"])
    monkeypatch.setattr("config.net.clients._load_allow_list", lambda: allowed)
