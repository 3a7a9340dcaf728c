"""The seven first steps of a new user. A step is completed as soon as the database contains evidence of it.

A completed step is stored, so that it stays completed when its run or workflow is deleted.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from django.utils import timezone

from accounts.access import Principal
from accounts.errors import NotAllowed
from accounts.tenancy import reading
from config.postgres.prepared import open_prepared_cursor
from config.sql import read_queries
from workflows import memory_app
from workflows.models import FirstSteps, Workflow
from workflows.services.samples.samples import is_helper


QUERIES: Final = read_queries("workflows/sql/queries/first_steps.sql")
MAX_CHECKED_RUNS = 30  # newest runs that are searched for a recalled memory


class Step(StrEnum):
    """A first step, and its evidence."""

    RUN = "run"  # a run that succeeded
    RECALL = "recall"  # a run that recalled something
    ISOLATE = "isolate"  # a run as another person
    UNDO = "undo"  # a forgotten memory that was restored
    MODEL = "model"  # a provider that answered its test
    PUBLISH = "publish"  # a version that the person published
    INVITE = "invite"  # an invitation sent


MEMORY_STEPS = (Step.RECALL, Step.ISOLATE, Step.UNDO)


@dataclass(frozen=True, slots=True)
class Progress:
    """The completed steps, whether the list of steps is hidden, and the position in the guided tour."""

    completed: frozenset[Step]
    is_dismissed: bool = False
    tour: str = ""  # the position of the guided tour; empty before and after it

    @property
    def is_complete(self) -> bool:
        return self.completed >= set(list_steps())

    @property
    def is_shown(self) -> bool:
        return not (self.is_dismissed or self.is_complete)


def list_steps() -> tuple[Step, ...]:
    """Return the steps; without memory, those that need it are left out."""
    return tuple(step for step in Step if memory_app.is_on() or step not in MEMORY_STEPS)


def get_progress(principal: Principal) -> Progress:
    """Return the person's progress. Steps that have been completed since the last call are stored first."""
    if principal.user_id is None:
        return Progress(frozenset())
    row = _get_row(principal)
    _store_completed_steps(principal, row)
    return _build_progress(row)


def find_shown_progress(principal: Principal) -> Progress | None:
    """Return the progress for a page that shows the list of steps by itself. Return None once the person has hidden it or
    completed all steps, for which nothing else is looked up.
    """
    row = _get_row(principal)
    if _build_progress(row).is_shown:
        _store_completed_steps(principal, row)
    progress = _build_progress(row)
    return progress if progress.is_shown else None


def _store_completed_steps(principal: Principal, row: FirstSteps) -> None:
    """Store the steps for which there is evidence now."""
    open_steps = {step for step in list_steps() if step not in row.done}
    with reading(principal.team_ids):
        completed = [
            *(_find_evidence(principal) & open_steps if open_steps & SHARED_EVIDENCE else ()),
            *(step for step in open_steps & EVIDENCE.keys() if EVIDENCE[step](principal)),
        ]
    if completed:
        _store_steps(row, completed)


def mark_done(principal: Principal, step: Step) -> None:
    """Store that a step is completed, for a step that leaves no evidence in the database."""
    if principal.user_id is None:
        return
    row = _get_row(principal)
    if step not in row.done:
        _store_steps(row, [step])


def dismiss(principal: Principal, *, dismissed: bool = True) -> Progress:
    """Hide the list of steps, or show it again if ``dismissed`` is false."""
    row = _get_row(principal)
    row.dismissed_at = timezone.now() if dismissed else None
    row.save(update_fields=["dismissed_at"])
    return _build_progress(row)


def save_tour_position(principal: Principal, position: str) -> Progress:
    row = _get_row(principal)
    row.tour = position[:40]
    row.save(update_fields=["tour"])
    return _build_progress(row)


def _get_row(principal: Principal) -> FirstSteps:
    """Return the person's row, which is created on first use. Raises NotAllowed for an API key."""
    if principal.user_id is None:
        raise NotAllowed
    return FirstSteps.objects.get_or_create(user_id=principal.user_id)[0]


def _store_steps(row: FirstSteps, steps: list[Step]) -> None:
    now = timezone.now().isoformat()
    row.done = {**row.done, **{step.value: now for step in steps}}
    row.save(update_fields=["done"])


def _build_progress(row: FirstSteps) -> Progress:
    completed = frozenset(step for step in list_steps() if step in row.done)
    return Progress(completed, row.dismissed_at is not None, row.tour)


def _find_evidence(principal: Principal) -> set[Step]:
    """Return the steps of ``SHARED_EVIDENCE`` that the person has completed, by one statement."""
    parameters = {"user": principal.user_id, "checked": MAX_CHECKED_RUNS}
    with open_prepared_cursor() as cursor:
        cursor.execute(QUERIES["evidence"], parameters)
        columns = [Step(column.name) for column in cursor.description]
        return {
            step
            for step, is_completed in zip(columns, cursor.fetchone(), strict=True)
            if is_completed
        }


def _has_undone(principal: Principal) -> bool:
    return memory_app.is_on() and memory_app.has_undone_forgetting(principal)


def _has_published(principal: Principal) -> bool:
    """Return whether the person published a version; a copied sample published its helper workflows itself."""
    workflows = Workflow.objects.unscoped().filter(
        published_version__created_by_id=principal.user_id
    )
    rows = workflows.values_list("sample", "slug", "published_version__number")
    return any(number > 1 or not is_helper(sample, slug) for sample, slug, number in rows)


# Steps whose evidence one statement looks for, and the functions that look for the evidence of others.
SHARED_EVIDENCE: Final = frozenset({Step.RUN, Step.RECALL, Step.ISOLATE, Step.INVITE})
EVIDENCE: Final[Mapping[Step, Callable[[Principal], bool]]] = {
    Step.UNDO: _has_undone,
    Step.PUBLISH: _has_published,
}
