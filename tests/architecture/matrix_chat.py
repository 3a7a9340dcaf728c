"""Rows of the chat page: open to whoever may run the workflow, its conversations to nobody but whose they are."""

from __future__ import annotations

from typing import Any

from tests.architecture.matrix_core import Maker, Row
from tests.support.cast import Person


def _published_chat(person: Person, canary: str) -> Any:
    from tests.factories.workflows import make_version
    from workflows.services.samples.samples import copy_sample

    workflow = copy_sample(person.principal, team_id=person.team.pk, slug="chatbot")
    make_version(person, workflow, note=canary)
    return workflow.pk


def _talk(person: Person, canary: str) -> Any:
    from tests.factories.workflows import make_message, make_workflow

    return make_message(person, make_workflow(person, canary), query=canary).conversation.pk


OBJECTS: dict[str, Maker] = {"published chat": _published_chat, "talk": _talk}

CHAT = {"workflow_id": "published chat"}
TALK = {"conversation_id": "talk"}
RUN = {"run_id": "run"}

# anonymous, outsider, viewer, editor, admin, other team's key
ROWS = [
    Row("GET", "chat/<uuid:workflow_id>/", "- 404 200 200 200 -", CHAT),
    Row("POST", "chat/<uuid:workflow_id>/say/", "- 404 302 302 302 -", CHAT, {"query": "Hello"}),
    Row("GET", "chat/turns/<uuid:run_id>/", "- 404 404 404 404 -", RUN),
    Row("GET", "chat/turns/<uuid:run_id>/follow-ups/", "- 404 404 404 404 -", RUN),
    Row("POST", "chat/turns/<uuid:run_id>/stop/", "- 404 404 404 404 -", RUN, {}),
    *(
        Row("POST", f"chat/turns/<uuid:run_id>/{verb}/", "- 404 404 404 404 -", RUN, {})
        for verb in ("forget", "restore")
    ),
    *(
        Row("POST", f"chat/talks/<uuid:conversation_id>/{verb}/", "- 404 404 404 404 -", TALK, {})
        for verb in ("rename", "put-away", "bring-back")
    ),
]
