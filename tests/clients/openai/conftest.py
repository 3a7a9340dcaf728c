"""Two teams on a real web server with a real worker; the clients have the keys of the first."""

from dataclasses import dataclass

import pytest

from tests.clients.mcp.team import make_connection
from tests.clients.openai.documents import DOCUMENTS
from tests.support.stack import LiveStack


@dataclass(frozen=True)
class Place:
    """The base URL of the API, a key, and the key of another team, which has the diary only."""

    url: str
    key: str
    strangers_key: str


@pytest.fixture(scope="module")
def _place(_stack: LiveStack) -> Place:
    own = make_connection(_stack, **DOCUMENTS)
    other = make_connection(_stack, Other=DOCUMENTS["Diary"])
    return Place(f"{_stack.url}/openai/v1", own.key, other.key)


@pytest.fixture
def place(_place: Place, live_stack: LiveStack) -> Place:
    """The server and its worker run, whatever the last test did to them."""
    return _place
