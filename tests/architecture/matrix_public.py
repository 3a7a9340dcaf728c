"""Rows of public pages: open to everybody who has the link, what is in them to nobody but its visitor."""

from __future__ import annotations

from typing import Any

from tests.architecture.matrix_core import Maker, Row
from tests.support.cast import Person


def _open(person: Person, workflow: Any) -> str:
    from workflows.services.public_pages.settings import change_page

    return change_page(person.principal, workflow=workflow, access="link").token


def _chat_page(person: Person, canary: str) -> Any:
    from tests.factories.workflows import make_version
    from workflows.services.samples.samples import copy_sample

    workflow = copy_sample(person.principal, team_id=person.team.pk, slug="chatbot")
    make_version(person, workflow, note=canary)
    return _open(person, workflow)


def _form_page(person: Person, canary: str) -> Any:
    from tests.factories.workflows import make_version, make_workflow

    workflow = make_workflow(person, "Form")
    make_version(person, workflow, note=canary)
    return _open(person, workflow)


OBJECTS: dict[str, Maker] = {"chat page": _chat_page, "form page": _form_page}

CHAT, FORM, WORKFLOW = {"token": "chat page"}, {"token": "form page"}, {"workflow_id": "workflow"}
RUN = {**CHAT, "run_id": "run"}
TALK = {**CHAT, "conversation_id": "talk"}
ROOT = "p/<str:token>/"
TURN = f"{ROOT}turns/<uuid:run_id>/"

# Whoever has the link is let in. A program's key counts for nothing here, and it has no token for forms either.
READS, WRITES = "200 200 200 200 200 200", "{0} {0} {0} {0} {0} -"
GONE, GONE_FORM = "404 404 404 404 404 404", WRITES.format(404)
SETTINGS = "workflows/<uuid:workflow_id>/page/"

# anonymous, outsider, viewer, editor, admin, other team's key
ROWS = [
    Row("GET", ROOT, READS, CHAT, foreign=200),
    Row("GET", f"{ROOT}embed/", READS, CHAT, foreign=200),
    Row("GET", f"{ROOT}memory/", READS, CHAT, foreign=200),
    Row("POST", f"{ROOT}password/", WRITES.format(422), CHAT, {"password": "x"}, foreign=422),
    Row("POST", f"{ROOT}visitor/", WRITES.format(422), CHAT, {}, foreign=422),
    Row("POST", f"{ROOT}say/", WRITES.format(302), CHAT, {"query": "Hello"}, foreign=302),
    Row("POST", f"{ROOT}start/", WRITES.format(302), FORM, {"text": "Hello"}, foreign=302),
    Row("POST", f"{ROOT}files/", WRITES.format(422), CHAT, {}, foreign=422),
    Row("POST", f"{ROOT}memory/forget-all/", WRITES.format(302), CHAT, {}, foreign=302),
    Row(
        "POST",
        f"{ROOT}memory/<uuid:entry_id>/forget/",
        GONE_FORM,
        {**CHAT, "entry_id": "entry"},
        {},
    ),
    Row("GET", f"{ROOT}results/<uuid:run_id>/", GONE, RUN),
    Row("GET", TURN, GONE, RUN),
    Row("POST", f"{TURN}stop/", GONE_FORM, RUN, {}),
    Row("POST", f"{TURN}forget/", GONE_FORM, RUN, {}),
    Row("POST", f"{TURN}restore/", GONE_FORM, RUN, {}),
    Row("GET", f"{TURN}events/", GONE, RUN),
    Row("GET", f"{TURN}follow-ups/", GONE, RUN),
    Row("GET", f"{TURN}waits/", GONE, RUN),
    Row(
        "POST",
        f"{TURN}waits/<uuid:wait_id>/",
        GONE_FORM,
        {**RUN, "wait_id": "wait"},
        {},
    ),
    Row("POST", f"{TURN}feedback/", GONE_FORM, RUN, {"rating": "up"}),
    Row("POST", f"{ROOT}talks/<uuid:conversation_id>/rename/", GONE_FORM, TALK, {"name": "x"}),
    Row("POST", f"{ROOT}talks/<uuid:conversation_id>/delete/", GONE_FORM, TALK, {}),
    Row("GET", "embed.js", READS),
    Row("GET", SETTINGS, "- 404 200 200 200 -", WORKFLOW),
    Row("POST", SETTINGS, "- 404 403 403 302 -", WORKFLOW, {"access": "link"}),
    Row("POST", f"{SETTINGS}renew/", "- 404 403 403 302 -", WORKFLOW, {}),
]
