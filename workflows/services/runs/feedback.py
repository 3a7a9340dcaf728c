"""Feedback on answers: give it, change it, and take it back."""

from collections.abc import Iterable, Mapping
from typing import Final
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.services import list_own_actors
from accounts.tenancy import tenant
from workflows import permissions
from workflows.errors import InvalidValue
from workflows.models import Feedback, Run
from workflows.models.reports.feedback import Rating
from workflows.services import audit_lines


MAX_TEXT: Final = 4_000


def give_feedback(
    principal: Principal, run: Run, *, rating: int, text: str | None = None, author: str = ""
) -> Feedback:
    """Store the principal's feedback on a run, which replaces its earlier one. Without a ``text``, that stays.

    ``author`` is whom a program speaks for, instead of its key, which may change.
    """
    permissions.check_answer(principal, run)
    if rating not in Rating.values:
        raise InvalidValue(_("Choose a thumb up or a thumb down."), field="rating")
    if text is not None and len(text) > MAX_TEXT:
        raise InvalidValue(_("A comment can have at most 4000 characters."), field="text")
    with tenant([run.team_id]):
        rows = Feedback.objects.unscoped().filter(run=run)
        earlier = rows.filter(actor__in=_list_authors(principal, author)).order_by("id").first()
        values = {"rating": rating} | ({} if text is None else {"text": text.strip()})
        feedback, _created = rows.update_or_create(
            run=run,
            actor=earlier.actor if earlier else author or principal.actor,
            defaults=values,
            create_defaults={
                **values,
                "team_id": run.team_id,
                "created_by_id": principal.user_id,
            },
        )
        audit_lines.record(principal, run, "run.feedback", rating=rating)
    return feedback


def take_feedback_back(principal: Principal, run: Run, *, author: str = "") -> None:
    """Delete the principal's feedback on a run, or that of ``author``. Without any, nothing happens."""
    permissions.check_answer(principal, run)
    with tenant([run.team_id]):
        rows = Feedback.objects.unscoped().filter(run=run)
        rows = rows.filter(actor__in=_list_authors(principal, author))
        if rows.delete()[0]:
            audit_lines.record(principal, run, "run.feedback", rating=0)


def load_own_feedback(principal: Principal, runs: Iterable[Run]) -> Mapping[UUID, Feedback]:
    """Return the principal's feedback by run. The caller has found the runs and may therefore see them."""
    rows = Feedback.objects.visible_to(principal).filter(
        run__in=[run.pk for run in runs], actor__in=list_own_actors(principal)
    )
    return {row.run_id: row for row in rows}


def _list_authors(principal: Principal, author: str) -> list[str]:
    return [author] if author else list_own_actors(principal)
