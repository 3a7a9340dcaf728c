"""What people decided about what was proposed: by their word in the review, or by taking back what nobody had asked them."""

from typing import Any

from django.db.models import BooleanField, Case, Exists, F, OuterRef, Q, QuerySet, Value, When

from memory.logic.review.proposals import State
from memory.models import Proposal, Revision
from memory.models.entries import Operation


PERSON = "user:"  # how an actor who is one begins
UNASKED = Q(by_itself=True, state=State.APPLIED.value)


def judged(rows: QuerySet[Proposal]) -> QuerySet[Any]:  # Any: a proposal and its verdict
    """With ``verdict``, a state: what was applied by itself is undone where a person took back what it wrote,
    and left out where nobody did, which says nothing of people."""
    taken_back = Exists(_taken_back())
    found = rows.exclude(state=State.OPEN.value).annotate(
        unasked=Case(When(UNASKED, then=True), default=False, output_field=BooleanField())
    )
    found = found.filter(Q(unasked=False) | Q(taken_back))
    return found.annotate(
        verdict=Case(When(unasked=True, then=Value(State.UNDONE.value)), default=F("state"))
    )


def _taken_back() -> QuerySet[Revision]:
    """What its change wrote and a person forgot, or restored as it had been, since."""
    since = Revision.objects.unscoped().filter(
        entry=OuterRef("entry_id"),
        number__gt=OuterRef("number"),
        actor__startswith=PERSON,
        operation__in=(Operation.FORGET.value, Operation.RESTORE.value),
    )
    written = Revision.objects.unscoped().filter(
        team_id=OuterRef("team_id"), change_id=OuterRef("change_id")
    )
    return written.filter(Exists(since))
