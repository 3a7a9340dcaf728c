"""Rows of what a person sees of themselves: the page about them, their pause, and the same over the API."""

from __future__ import annotations

from tests.architecture.matrix_core import Maker, Row
from tests.architecture.matrix_memory import CHANGE, PRIVATE, PRIVATE_NAMESPACE


OBJECTS: dict[str, Maker] = {}

ME = "api/v1/memory/subjects/me"
THEM = "api/v1/memory/subjects/<path:subject>"

# anonymous, outsider, viewer, editor, admin, other team's key
ROWS = [
    Row("GET", "memory/about/", "- 200 200 200 200 -"),
    Row("POST", "memory/about/pause/", "- 302 302 302 302 -", body={}),
    Row("POST", "memory/about/resume/", "- 302 302 302 302 -", body={}),
    # Another's is not there, whatever the role
    *(
        Row("POST", f"memory/about/entries/<uuid:entry_id>/{verb}/", "- 404 404 404 404 -", PRIVATE, {})
        for verb in ("correct", "use", "forget", "restore")
    ),
    Row(
        "POST",
        "memory/about/<uuid:namespace_id>/forget/",
        "- 404 404 404 404 -",
        PRIVATE_NAMESPACE,
        {"sure": "1"},
    ),
    Row("POST", "memory/about/changes/<uuid:change_id>/undo/", "- 404 403 302 302 -", CHANGE, {}),
    # A key is nobody
    Row("GET", ME, "- 200 200 200 200 403"),
    Row("POST", f"{ME}/pause", "- 200 200 200 200 403", body={}),
    Row("POST", f"{ME}/resume", "- 200 200 200 200 403", body={}),
    # An account's is its own; an outside person's may be named by a key
    Row("GET", f"{THEM}/pause", "- 404 404 404 404 404", {"subject": "subject"}),
    Row("GET", f"{THEM}/looks", "- 200 200 200 200 404", {"subject": "subject"}, foreign=200),
    *(
        Row("POST", f"{THEM}/{verb}", "- 404 404 404 404 404", {"subject": "subject"}, {})
        for verb in ("pause", "resume")
    ),
]  # fmt: skip
