"""The outcomes of proposals: what people decided in the review, or by reverting a change applied automatically."""

from typing import Any

from django.db.models import BooleanField, Case, Exists, F, OuterRef, Q, QuerySet, Value, When

from memory.logic.review.proposals import ReviewState
from memory.models import Proposal, Revision
from memory.models.entries import Operation


USER_PREFIX = "user:"  # the actors who are people
AUTOMATIC = Q(by_itself=True, state=ReviewState.APPLIED.value)


def annotate_verdicts(rows: QuerySet[Proposal]) -> QuerySet[Any]:  # Any: a proposal and its verdict
    """Return the decided proposals with their ``verdict``, a state.

    A proposal that was applied automatically counts as undone if a person reverted its change, and is left out
    otherwise, because no person has decided about it.
    """
    is_reverted = Exists(_select_reverted())
    outcomes = rows.exclude(state=ReviewState.OPEN.value).annotate(
        is_automatic=Case(When(AUTOMATIC, then=True), default=False, output_field=BooleanField())
    )
    outcomes = outcomes.filter(Q(is_automatic=False) | Q(is_reverted))
    return outcomes.annotate(
        verdict=Case(
            When(is_automatic=True, then=Value(ReviewState.UNDONE.value)), default=F("state")
        )
    )


def _select_reverted() -> QuerySet[Revision]:
    """Return the query for revisions of the proposal's change whose entry a person has forgotten or restored since."""
    later_reverts = Revision.objects.unscoped().filter(
        entry=OuterRef("entry_id"),
        number__gt=OuterRef("number"),
        actor__startswith=USER_PREFIX,
        operation__in=(Operation.FORGET.value, Operation.RESTORE.value),
    )
    revisions = Revision.objects.unscoped().filter(
        team_id=OuterRef("team_id"), change_id=OuterRef("change_id")
    )
    return revisions.filter(Exists(later_reverts))
