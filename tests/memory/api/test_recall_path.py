"""How many modules an API recall passes between its URL's function and the SQL that searches."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from tests.support.cast import Person


pytestmark = pytest.mark.django_db

OURS = ("memory", "accounts", "config", "workflows")
BACKEND = "config.postgres.base"  # Django passes it for each query, as it would pass its own
# The four more know which teams have connected an embedding model of their own, fold spellings, name speakers, and can pause
# a transaction for memory that is kept elsewhere.
MOST = 20 + 4
PLACE = {"namespace": "user:customer-7"}


def passed_modules(call: Callable[[], Any]) -> list[str]:
    """Modules of which a function runs from the operation's first line until the search is sent to the database.

    What a data class generates is no step on the way, nor is the database backend.
    """
    passed: dict[str, None] = {}
    has_searched = False

    def note(frame: FrameType, event: str, _arg: object) -> None:
        nonlocal has_searched
        module = str(frame.f_globals.get("__name__", ""))
        is_generated = frame.f_code.co_filename == "<string>"
        if event != "call" or has_searched or is_generated or module == BACKEND:
            return
        has_searched = "memory_posting" in str(frame.f_locals.get("sql", ""))
        if module.partition(".")[0] in OURS and (passed or module == "memory.api.entries"):
            passed.setdefault(module)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    assert has_searched
    return list(passed)


def test_recall_passes_few_modules(alice: Person, api_key: Any) -> None:
    client = api_key(alice)

    def send(path: str, **body: Any) -> Any:
        return client.post(path, data={**PLACE, **body}, content_type="application/json")

    def ask() -> Any:
        return send("/api/v1/memory/recall", query_text="green tea").json()["count"]

    assert send("/api/v1/memory/entries", key="k", value="green tea").status_code == 201
    assert ask() == 1

    modules = passed_modules(ask)
    assert len(modules) <= MOST, "\n".join(modules)
