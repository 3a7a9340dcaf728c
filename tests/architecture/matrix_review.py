"""Rows and objects of the review's pages."""

from __future__ import annotations

from typing import Any

from tests.architecture.matrix_core import Maker, Row
from tests.architecture.matrix_memory import _caller
from tests.support.cast import Person


def _held(person: Person, canary: str) -> Any:
    """In quarantine, where the team may look."""
    from memory.services import remember

    entry = remember(
        _caller(person),
        key=f"held-{canary}",
        value=canary,
        namespace=f"global:{canary}",
        tier="quarantine",
    )
    return entry.id


OBJECTS: dict[str, Maker] = {"held entry": _held}

PROPOSAL = {"item_id": "proposal"}
PRIVATE = {"item_id": "private proposal"}
HELD = {"item_id": "held entry"}
NAMED = {"item": "proposal"}
ITEM = "memory/review/<uuid:item_id>/"
LEARNING = {
    "review": "all",
    "share": "10",
    "scope": "user",
    "token_budget": "4000",
    "seconds": "30",
}
JOIN = {"into": "nowhere", "value": "x"}

# anonymous, outsider, viewer, editor, admin, other team's key
ROWS: list[Row] = [
    Row("GET", "memory/review/", "- 200 200 200 200 -"),
    Row("GET", "memory/review/rules/", "- 200 200 200 200 -"),
    Row("GET", "memory/review/settings/", "- 200 200 200 200 -"),
    # The outsider changes their own team's
    Row("POST", "memory/review/settings/", "- 302 403 302 302 -", body=LEARNING),
    # Into one's own demo memory, which everybody has
    Row("POST", "memory/review/sample/", "- 302 302 302 302 -", body={}),
    Row("POST", "memory/review/sample/remove/", "- 302 302 302 302 -", body={}),
    *(
        row
        for ids in (PROPOSAL, HELD)
        for row in (
            Row("GET", ITEM, "- 404 200 200 200 -", ids),
            Row("POST", f"{ITEM}accept/", "- 404 403 302 302 -", ids, {}),
            Row("POST", f"{ITEM}reject/", "- 404 403 302 302 -", ids, {}),
        )
    ),
    # It forgets, and brings nothing that could join another; for the other there is no such memory
    Row("POST", f"{ITEM}merge/", "- 404 403 422 422 -", PROPOSAL, JOIN),
    Row("POST", f"{ITEM}merge/", "- 404 403 404 404 -", HELD, JOIN),
    # It contradicts nothing
    Row("POST", f"{ITEM}choose/", "- 404 403 409 409 -", PROPOSAL, {"choice": "both"}),
    Row("POST", f"{ITEM}choose/", "- 404 404 404 404 -", PRIVATE, {"choice": "both"}),
    # Private to a person: no role opens it
    Row("GET", ITEM, "- 404 404 404 404 -", PRIVATE),
    *(
        Row("POST", f"{ITEM}{act}/", "- 404 404 404 404 -", PRIVATE, JOIN)
        for act in ("accept", "reject", "merge")
    ),
    # A dry run first: who may look may ask what it would do
    Row("POST", "memory/review/decide/", "- 404 200 200 200 -", NAMED, {"act": "accept"}),
    Row(
        "POST",
        "memory/review/decide/",
        "- 404 403 302 302 -",
        NAMED,
        {"act": "reject", "sure": "1"},
    ),
    # Nothing was decided yet that could be taken back
    Row("POST", "memory/review/take-back/", "- 404 403 409 409 -", NAMED, {}),
    Row(
        "POST",
        "memory/curations/<uuid:curation_id>/retry/",
        "- 404 404 404 404 -",
        {"curation_id": "curation"},
        {},
    ),
]
