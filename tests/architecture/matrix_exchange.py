"""Rows and objects of memory as a file, and of erasing somebody."""

from __future__ import annotations

from typing import Any

from tests.architecture.matrix_core import Maker, Row
from tests.architecture.matrix_memory import _entry, _private_entry
from tests.support.cast import Person


def _erasure(person: Person, canary: str) -> Any:
    """Of the person, who asked for it themselves; done."""
    from memory.services import MemoryCaller
    from memory.services.erasure.erasure_jobs import get_confirmation_text, order_erasure
    from memory.upkeep.erasure import run_erasure

    _private_entry(person, canary)
    own = str(person.user.pk)
    caller = MemoryCaller(person.principal, person.team.id)
    row = order_erasure(caller, subject=own, confirmation=get_confirmation_text(own), runs=False)
    run_erasure(row.team_id, row.pk)
    return row.pk


def _erasure_to_decide(person: Person, canary: str) -> Any:
    """It left somebody the decision about a shared memory: the entry of this canary."""
    from accounts.tenancy import tenant
    from memory.models import Erasure
    from memory.models.jobs import JobStatus

    entry_id = _entry(person, canary)
    with tenant([person.team.id]):
        row = Erasure.objects.create(
            team_id=person.team.id,
            subject=canary,
            asked_by=person.user,
            status=JobStatus.DONE,
            receipt={"to_decide": [str(entry_id)]},
        )
    return row.pk


OBJECTS: dict[str, Maker] = {"erasure": _erasure, "erasure to decide": _erasure_to_decide}

ERASURE = {"erasure_id": "erasure"}
DECISION = {"erasure_id": "erasure to decide", "entry_id": "entry"}
NOBODY = "01900000-0000-7000-8000-000000000001"
FILE = '{"format": "mnemoflow-memory", "version": 1, "of": "team", "name": "x", "at": "2026-05-01T10:00:00Z"}\n{"type": "end", "lines": 2}\n'

# anonymous, outsider, viewer, editor, admin, other team's key
ROWS = [
    Row("GET", "memory/exchange/", "- 200 200 200 200 -"),
    Row("POST", "memory/exchange/", "- 422 422 422 422 -", body={}),
    Row("POST", "memory/exchange/undo/", "- 404 403 302 302 -", {"change": "change"}, {}),
    # The outsider leads a team of their own
    Row("GET", "memory/export/", "- 200 403 403 200 -"),
    Row("GET", "memory/export/me/", "- 200 200 200 200 -"),
    Row("GET", "memory/erase/", "- 200 200 200 200 -"),
    Row("POST", "memory/erase/", "- 200 200 200 200 -", body={"whose": "me"}),
    Row("POST", "memory/erase/", "- 404 404 404 404 -", {"person": "subject"}, {"whose": "other"}),
    # The outsider leads a team of their own
    Row("GET", "memory/erase/people/", "- 200 404 404 200 -"),
    Row("GET", "memory/erase/<uuid:erasure_id>/", "- 404 404 404 404 -", ERASURE),
    Row("GET", "memory/erase/<uuid:erasure_id>/receipt/", "- 404 404 404 404 -", ERASURE),
    Row("GET", "memory/erase/decisions/", "- 200 200 200 200 -"),
    Row(
        "POST",
        "memory/erase/<uuid:erasure_id>/decisions/<uuid:entry_id>/",
        "- 404 403 302 302 -",
        DECISION,
        {"decision": "keep"},
    ),
    # The API
    Row("GET", "api/v1/memory/erasures/decisions", "- 200 200 200 200 200"),
    Row(
        "POST",
        "api/v1/memory/erasures/<uuid:erasure_id>/decisions/<uuid:entry_id>",
        "- 404 403 200 200 404",
        DECISION,
        {"decision": "keep"},
    ),
    Row("GET", "api/v1/memory/export", "- 200 403 403 200 403"),
    Row(
        "GET",
        "api/v1/memory/subjects/<path:subject>/export",
        "- 404 404 404 404 404",
        {"subject": "subject"},
    ),
    Row("POST", "api/v1/memory/import", "- 200 200 200 200 200", body={"file": FILE}),
    Row("POST", "api/v1/memory/import", "- 422 422 422 422 422", body={"file": "x"}),
    Row("POST", "api/v1/memory/import/undo", "- 404 404 404 404 404", body={"changes": [NOBODY]}),
]
