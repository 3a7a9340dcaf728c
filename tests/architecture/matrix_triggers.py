"""Rows of triggers: their page and routes. The addresses of webhooks open by their token, whoever asks."""

from __future__ import annotations

from typing import Any

from tests.architecture.matrix_core import Maker, Row
from tests.support.cast import Person


def _workflow(person: Person, canary: str) -> Any:
    """Published with a webhook whose name is the canary."""
    from tests.factories.workflows import make_version, make_workflow
    from tests.workflows.triggers.documents import HOOK, build_source

    workflow = make_workflow(person, canary, build_source({**HOOK, "title": canary}, name=canary))
    make_version(person, workflow)
    return workflow.pk


def _message(person: Person, canary: str) -> Any:
    """A message about a run to an address with the canary; it is found only beside its address and its workflow."""
    from django.utils import timezone

    from accounts.tenancy import tenant
    from tests.factories.workflows import make_workflow
    from workflows.models import Delivery
    from workflows.services.triggers.subscriptions import subscribe

    url = f"https://example.com/{canary}"
    with tenant([person.team.pk]):
        rows = Delivery.objects.unscoped().filter(subscription__url=url, team_id=person.team.pk)
        if row := rows.select_related("subscription").first():
            return row
    workflow = make_workflow(person, canary)
    subscription, _secret = subscribe(
        person.principal, workflow=workflow, url=url, events=["failed"]
    )
    with tenant([workflow.team_id]):
        return Delivery.objects.create(
            team_id=workflow.team_id,
            subscription=subscription,
            workflow_id=workflow.pk,
            run_id=workflow.pk,
            event="failed",
            created_at=timezone.now(),
        )


OBJECTS: dict[str, Maker] = {
    "told workflow": lambda person, canary: _message(person, canary).workflow_id,
    "told address": lambda person, canary: _message(person, canary).subscription_id,
    "message about a run": lambda person, canary: _message(person, canary).pk,
    "workflow with a webhook": _workflow,
    "webhook's node": lambda person, canary: "t1",
    "unknown token": lambda person, canary: "no-such-webhook",
}

WORKFLOW = {"workflow_id": "workflow with a webhook"}
NODE = {**WORKFLOW, "node_id": "webhook's node"}
TOKEN = {"token": "unknown token"}
PAGE = "workflows/<uuid:workflow_id>/triggers/"
API = "api/v1/workflows/<uuid:workflow_id>/triggers"
OUT = "workflows/<uuid:workflow_id>/ended-runs/"
TOLD = {"workflow_id": "told workflow"}
ADDRESS = {**TOLD, "subscription_id": "told address"}
MESSAGE = {**ADDRESS, "delivery_id": "message about a run"}
NEW = {"url": "https://example.com/", "events": "failed"}
API_OUT = "api/v1/workflows/<uuid:workflow_id>/run-subscriptions"
# Both teams have a node of this name, so that only the workflow is foreign.
SAME = {"workflow_id": 404, "node_id": 200}
MOVED = {"workflow_id": 404, "node_id": 302}

# anonymous, outsider, viewer, editor, admin, other team's key
ROWS: list[Row] = [
    Row("GET", PAGE, "- 404 200 200 200 -", WORKFLOW),
    Row("POST", f"{PAGE}<str:node_id>/switch/", "- 404 403 302 302 -", NODE, {}, MOVED),
    Row("POST", f"{PAGE}<str:node_id>/secret/", "- 404 403 200 200 -", NODE, {}, SAME),
    Row("POST", f"{PAGE}<str:node_id>/address/", "- 404 403 302 302 -", NODE, {}, MOVED),
    Row("POST", f"{PAGE}<str:node_id>/wait/", "- 404 403 302 302 -", NODE, {}, MOVED),
    Row("GET", f"{PAGE}<str:node_id>/test/", "- 404 403 200 200 -", NODE, None, SAME),
    Row("GET", API, "- 404 200 200 200 404", WORKFLOW),
    Row("PATCH", f"{API}/<node_id>", "- 404 403 200 200 404", NODE, {"is_on": False}, SAME),
    Row("POST", f"{API}/<node_id>/secret", "- 404 403 200 200 404", NODE, {}, SAME),
    Row("GET", OUT, "- 404 403 200 200 -", TOLD),
    Row("POST", OUT, "- 404 403 200 200 -", TOLD, NEW),
    Row("GET", f"{OUT}<uuid:subscription_id>/", "- 404 403 200 200 -", ADDRESS),
    Row("POST", f"{OUT}<uuid:subscription_id>/switch/", "- 404 403 302 302 -", ADDRESS, {}),
    Row("POST", f"{OUT}<uuid:subscription_id>/delete/", "- 404 403 302 302 -", ADDRESS, {}),
    Row(
        "POST",
        f"{OUT}<uuid:subscription_id>/again/<uuid:delivery_id>/",
        "- 404 403 302 302 -",
        MESSAGE,
        {},
    ),
    Row("GET", API_OUT, "- 404 403 200 200 404", TOLD),
    Row("POST", API_OUT, "- 404 403 201 201 404", TOLD, {**NEW, "events": ["failed"]}),
    Row(
        "PATCH",
        f"{API_OUT}/<uuid:subscription_id>",
        "- 404 403 200 200 404",
        ADDRESS,
        {"is_on": False},
    ),
    Row("DELETE", f"{API_OUT}/<uuid:subscription_id>", "- 404 403 204 204 404", ADDRESS),
    Row("GET", f"{API_OUT}/<uuid:subscription_id>/deliveries", "- 404 403 200 200 404", ADDRESS),
    Row(
        "POST",
        f"{API_OUT}/<uuid:subscription_id>/deliveries/<uuid:delivery_id>/again",
        "- 404 403 200 200 404",
        MESSAGE,
        {},
    ),
    *(
        Row(method, f"hooks/<token>{path}", "404 404 404 404 404 404", TOKEN)
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")
        for path in ("", "/test")
    ),
]
