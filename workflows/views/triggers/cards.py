"""What the page of triggers and the dialog after publishing show of each trigger."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from pydantic import ValidationError

from accounts.access import Principal
from config.http.context import get_base_url
from workflows import permissions
from workflows.engine.language.document import Document, NodeSpec
from workflows.engine.triggers.recurrence import ScheduleInvalid, build_recurrence
from workflows.engine.triggers.webhooks import Authentication, WebhookConfig
from workflows.models import Run, Trigger, Workflow
from workflows.services.editor.drafts import load_draft
from workflows.services.triggers.activation import list_trigger_nodes, list_triggers
from workflows.services.triggers.addresses import read_token
from workflows.views.triggers.examples import build_curl


UPCOMING: Final = 3


@dataclass(frozen=True, slots=True)
class TriggerCard:
    """A trigger node of the draft or of the published version. ``row`` is None if it was never published or tested."""

    node_id: str
    title: str
    kind: str
    is_in_draft: bool
    row: Trigger | None = None
    # Of webhooks, for those who may publish.
    url: str = ""
    test_url: str = ""
    curl: str = ""
    method: str = ""
    needs_secret: bool = False
    has_secret: bool = False
    is_waiting: bool = False
    # Of schedules.
    expression: str = ""
    zone: str = ""
    upcoming: tuple[str, ...] = ()
    skips_missed: bool = False
    last_run: Run | None = None
    test_run: Run | None = None
    # The error came after the last run.
    is_failing: bool = False
    is_invalid: bool = False

    @property
    def is_webhook(self) -> bool:
        return self.kind == "trigger-webhook"

    @property
    def test_call_text(self) -> str:
        call = self.row.test_call if self.row is not None else None
        return json.dumps(call, indent=2, ensure_ascii=False) if call else ""

    @property
    def is_published(self) -> bool:
        return self.row is not None and self.row.is_published

    @property
    def is_on(self) -> bool:
        return self.row is not None and self.row.is_active


def list_cards(request: HttpRequest, principal: Principal, workflow: Workflow) -> list[TriggerCard]:
    """Return the cards of the draft's triggers, and of those that only the published version has."""
    return _build_cards(request, principal, workflow, load_draft(workflow))


def build_published_triggers(
    request: HttpRequest, principal: Principal, workflow: Workflow
) -> dict[str, Any]:
    """Return the context of ``triggers/_published.html``, which shows the triggers of the version just published."""
    rows = [row for row in list_triggers(principal, workflow) if row.is_published]
    may_publish = permissions.may_publish(principal, workflow)
    cards = [_build_card(request, row, {}, may_publish, None) for row in rows]
    return {"triggers": cards}


def _build_cards(
    request: HttpRequest, principal: Principal, workflow: Workflow, draft: Document
) -> list[TriggerCard]:
    nodes = list_trigger_nodes(draft)
    rows = {row.node_id: row for row in list_triggers(principal, workflow)}
    current = [row for node_id, row in rows.items() if node_id in nodes or row.is_published]
    runs = _load_runs(principal, current)
    may_publish = permissions.may_publish(principal, workflow)
    cards = [
        _build_card(request, row, runs, may_publish, nodes.get(row.node_id)) for row in current
    ]
    new = [node for node_id, node in nodes.items() if node_id not in rows]
    cards += [
        _describe(TriggerCard(node.id, node.title or node.id, node.kind, True), dict(node.data))
        for node in new
    ]
    return cards


def _load_runs(principal: Principal, rows: list[Trigger]) -> Mapping[UUID, Run]:
    """Return the last runs, as far as the principal may see them."""
    ids = {run_id for row in rows for run_id in (row.last_run_id, row.test_run_id) if run_id}
    return Run.objects.visible_to(principal).in_bulk(ids) if ids else {}


def _build_card(
    request: HttpRequest,
    row: Trigger,
    runs: Mapping[UUID, Run],
    may_publish: bool,
    node: NodeSpec | None,
) -> TriggerCard:
    """Return the card of a row. One that was never published has the settings of the draft's node."""
    card = TriggerCard(
        node_id=row.node_id,
        title=str(row),
        kind=row.kind,
        is_in_draft=node is not None,
        row=row,
        has_secret=bool(row.sealed_secret),
        is_waiting=row.listens_until is not None and row.listens_until > timezone.now(),
        last_run=runs.get(row.last_run_id) if row.last_run_id else None,
        test_run=runs.get(row.test_run_id) if row.test_run_id else None,
        is_failing=row.error_at is not None and (row.last_at is None or row.last_at < row.error_at),
    )
    url = _build_url(request, row) if may_publish and row.is_webhook else ""
    is_draft = node is not None and not row.is_published
    return _describe(card, dict(node.data) if node is not None and is_draft else row.settings, url)


def _build_url(request: HttpRequest, row: Trigger) -> str:
    return get_base_url(request) + reverse("hooks:call", args=[read_token(row)])


def _describe(card: TriggerCard, settings: dict[str, Any], url: str = "") -> TriggerCard:
    """Return the card with what its settings say. Settings that don't fit leave it without."""
    describe = _describe_webhook if card.is_webhook else _describe_schedule
    try:
        values = describe(settings, url)
    except (ValidationError, ScheduleInvalid):
        values = {"is_invalid": True}
    return replace(card, **values)


def _describe_webhook(settings: dict[str, Any], url: str) -> dict[str, Any]:
    config = WebhookConfig.model_validate(settings)
    return {
        "method": config.method.upper(),
        "needs_secret": config.authentication is not Authentication.NONE,
        "url": url,
        "test_url": f"{url}/test" if url else "",
        "curl": build_curl(config, url) if url else "",
    }


def _describe_schedule(settings: dict[str, Any], _url: str) -> dict[str, Any]:
    recurrence = build_recurrence(settings)
    times = recurrence.iter_after(timezone.now())
    return {
        "expression": recurrence.expression,
        "zone": str(recurrence.zone),
        "upcoming": tuple(
            date_format(time.astimezone(recurrence.zone), "DATETIME_FORMAT")
            for time in islice(times, UPCOMING)
        ),
        "skips_missed": settings.get("missed_runs") == "skip",
    }
