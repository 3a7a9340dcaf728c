"""Rows of the first steps, and of forgetting from the chat."""

from __future__ import annotations

from tests.architecture.matrix_core import Maker, Row


OBJECTS: dict[str, Maker] = {}

CHAT = {"workflow_id": "chat"}

# anonymous, outsider, viewer, editor, admin, other team's key
ROWS: list[Row] = [
    # One's own, wherever one is
    Row("GET", "first-steps/", "- 200 200 200 200 -"),
    Row("POST", "first-steps/", "- 302 302 302 302 -", body={"act": "dismiss"}),
    # Only what runs of one's own learnt is ever forgotten: who asks finds nothing of others'
    Row("POST", "workflows/<uuid:workflow_id>/forget-last/", "- 404 302 302 302 -", CHAT, {}),
    Row("POST", "workflows/<uuid:workflow_id>/remember-again/", "- 404 404 404 404 -", CHAT, {"change": "x"}),
]  # fmt: skip
