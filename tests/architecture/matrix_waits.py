"""Rows and objects of what runs wait for: the list, the answers, and the link that needs no account."""

from __future__ import annotations

from typing import Any

from tests.architecture.matrix_core import Maker, Row
from tests.support.cast import Person


FORM = {
    "type": "form",
    "inputs": [{"name": "comment", "type": "paragraph"}],
    "actions": [{"id": "send", "title": "Send"}],
}


def _wait(person: Person, canary: str, **given: Any) -> Any:
    """A run of the person that waits; it is found only beside its own wait, so the two are made as one."""
    from accounts.tenancy import tenant
    from tests.factories.workflows import make_run, make_workflow
    from workflows.models import RunWait

    subject = given.get("subject", "")
    with tenant([person.team.pk]):
        for known in RunWait.objects.unscoped().filter(part=canary, team_id=person.team.pk):
            if not subject or known.run.subject == subject:
                return known
    run = make_run(
        person,
        make_workflow(person, canary),
        status="paused",
        pause={"nodes": ["ask"], "reason": "input", "at": 0},
        **given,
    )
    with tenant([run.team_id]):
        return RunWait.objects.create(
            team_id=run.team_id,
            run=run,
            node_key="ask",
            part=canary,
            form={**FORM, "content": canary},
        )


def _for_ada(person: Person, canary: str) -> Any:
    from accounts.models import User
    from accounts.tenancy import tenant

    with tenant([person.team.pk]):
        ada = User.objects.filter(name="Ada", memberships__team=person.team).first()
    given = {"subject": str(ada.pk), "subject_user": ada} if ada else {}
    return _wait(person, f"{canary} for ada", **given)


def _for_viewer(person: Person, canary: str) -> Any:
    """A question of the person's run that asks Vic, who doesn't see the run."""
    from accounts.models import User
    from accounts.tenancy import tenant
    from workflows.models import RunWait

    wait = _wait(person, f"{canary} for vic")
    with tenant([person.team.pk]):
        vic = User.objects.filter(name="Vic", memberships__team=person.team).first()
        keys = [f"user:{vic.pk}"] if vic else ["email:vic@example.org"]
        RunWait.objects.unscoped().filter(pk=wait.pk).update(answerers=keys)
    return wait


def _token(person: Person, canary: str) -> str:
    from workflows.execution.questions.links import sign_wait

    wait = _wait(person, f"{canary} by link")
    return sign_wait(wait.team_id, wait.pk)


OBJECTS: dict[str, Maker] = {
    "waiting run": lambda person, canary: _wait(person, canary).run_id,
    "wait": lambda person, canary: _wait(person, canary).pk,
    "waiting run for ada": lambda person, canary: _for_ada(person, canary).run_id,
    "wait for ada": lambda person, canary: _for_ada(person, canary).pk,
    "waiting run for vic": lambda person, canary: _for_viewer(person, canary).run_id,
    "wait for vic": lambda person, canary: _for_viewer(person, canary).pk,
    "wait token": _token,
}

RUN = {"run_id": "waiting run"}
ADA = {"run_id": "waiting run for ada"}
WAIT = {**RUN, "wait_id": "wait"}
ADAS_WAIT = {**ADA, "wait_id": "wait for ada"}
VICS_WAIT = {"run_id": "waiting run for vic", "wait_id": "wait for vic"}
ANSWER = {"values": {"comment": "fine"}, "action": "send"}
POSTED = {"comment": "fine", "-action": "send"}
API = "api/v1/runs/<uuid:run_id>/waits"
PAGE = "runs/<uuid:run_id>/waits/"

# anonymous, outsider, viewer, editor, admin, other team's key
ROWS: list[Row] = [
    Row("GET", "api/v1/waits", "- 200 200 200 200 200"),
    Row("GET", API, "- 404 404 404 404 404", RUN),
    Row("GET", API, "- 404 404 404 200 404", ADA),
    Row("POST", f"{API}/<uuid:wait_id>", "- 404 404 404 404 404", WAIT, ANSWER),
    Row("POST", f"{API}/<uuid:wait_id>", "- 404 404 404 200 404", ADAS_WAIT, ANSWER),
    Row("POST", f"{API}/<uuid:wait_id>", "- 404 200 404 404 404", VICS_WAIT, ANSWER),
    Row("GET", "waiting/<uuid:wait_id>/", "- 404 404 404 404 -", {"wait_id": "wait"}),
    Row("GET", "waiting/<uuid:wait_id>/", "- 404 200 404 404 -", {"wait_id": "wait for vic"}),
    Row("GET", "waiting/", "- 200 200 200 200 -"),
    Row("GET", "waiting/count/", "- 200 200 200 200 -"),
    Row("GET", PAGE, "- 404 404 404 404 -", RUN),
    Row("GET", PAGE, "- 404 404 404 200 -", ADA),
    Row("POST", f"{PAGE}<uuid:wait_id>/", "- 404 404 404 404 -", WAIT, POSTED),
    Row("POST", f"{PAGE}<uuid:wait_id>/", "- 404 404 404 302 -", ADAS_WAIT, POSTED),
    Row("POST", f"{PAGE}<uuid:wait_id>/", "- 404 302 404 404 -", VICS_WAIT, POSTED),
    # Whoever has the link: that is its purpose. It shows the question and nothing else.
    Row("GET", "answer/<str:token>/", "200 200 200 200 200 200", {"token": "wait token"}, foreign=200),
    Row("POST", "answer/<str:token>/", "200 200 200 200 200 -", {"token": "wait token"}, POSTED, foreign=200),
]  # fmt: skip
