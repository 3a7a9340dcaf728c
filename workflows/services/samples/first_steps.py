"""The first seven things to do. They are done by doing them: what people did is looked up, nobody ticks.

What was found once is kept, so that deleting the run or the workflow takes nothing back.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from django.utils import timezone

from accounts.access import Principal
from accounts.errors import NotAllowed
from accounts.models import Invitation
from accounts.tenancy import tenant
from workflows import memory_app
from workflows.models import FirstSteps, Run, RunEvent, Workflow
from workflows.models.run import RunStatus


LOOKED_AT = 30  # newest runs that are asked whether they recalled something


class Step(StrEnum):
    RUN = "run"  # a run that succeeded
    RECALL = "recall"  # a run that recalled something
    ISOLATE = "isolate"  # a run as somebody else
    UNDO = "undo"  # a forgotten memory brought back
    MODEL = "model"  # a provider that answered its test
    PUBLISH = "publish"  # a version made public
    INVITE = "invite"  # an invitation sent


OF_MEMORY = (Step.RECALL, Step.ISOLATE, Step.UNDO)


@dataclass(frozen=True, slots=True)
class Progress:
    done: frozenset[Step]
    is_dismissed: bool = False
    tour: str = ""  # where the guided tour is; empty before and after it

    @property
    def is_complete(self) -> bool:
        return self.done >= set(offered_steps())


def offered_steps() -> tuple[Step, ...]:
    """Without memory there is nothing to see of it."""
    return tuple(step for step in Step if memory_app.is_on() or step not in OF_MEMORY)


def progress_of(principal: Principal) -> Progress:
    """How far this person is, what they did meanwhile included."""
    if principal.user_id is None:
        return Progress(frozenset())
    row = _row(principal)
    open_steps = [step for step in offered_steps() if step not in row.done]
    with tenant(principal.team_ids):
        found = [step for step in open_steps if step in EVIDENCE and EVIDENCE[step](principal)]
    if found:
        _keep(row, found)
    return _progress(row)


def mark(principal: Principal, step: Step) -> None:
    """For what leaves no trace to look up."""
    if principal.user_id is None:
        return
    row = _row(principal)
    if step not in row.done:
        _keep(row, [step])


def dismiss(principal: Principal, *, dismissed: bool = True) -> Progress:
    row = _row(principal)
    row.dismissed_at = timezone.now() if dismissed else None
    row.save(update_fields=["dismissed_at"])
    return _progress(row)


def go_on_with_tour(principal: Principal, place: str) -> Progress:
    row = _row(principal)
    row.tour = place[:40]
    row.save(update_fields=["tour"])
    return _progress(row)


def _row(principal: Principal) -> FirstSteps:
    """Keys have no first steps; who asks for one's own is a person."""
    if principal.user_id is None:
        raise NotAllowed
    return FirstSteps.objects.get_or_create(user_id=principal.user_id)[0]


def _keep(row: FirstSteps, steps: list[Step]) -> None:
    now = timezone.now().isoformat()
    row.done = {**row.done, **{step.value: now for step in steps}}
    row.save(update_fields=["done"])


def _progress(row: FirstSteps) -> Progress:
    done = frozenset(step for step in offered_steps() if step in row.done)
    return Progress(done, row.dismissed_at is not None, row.tour)


def _ran(principal: Principal) -> bool:
    mine = Run.objects.unscoped().filter(started_by_id=principal.user_id)
    return mine.filter(status=RunStatus.SUCCEEDED).exists()


def _recalled(principal: Principal) -> bool:
    mine = Run.objects.unscoped().filter(started_by_id=principal.user_id)
    newest = list(mine.order_by("-created_at", "-id").values_list("pk", flat=True)[:LOOKED_AT])
    events = RunEvent.objects.unscoped().filter(run_id__in=newest, name="memory_recalled")
    return any(data.get("entries") for data in events.values_list("data", flat=True))


def _was_somebody_else(principal: Principal) -> bool:
    mine = Run.objects.unscoped().filter(started_by_id=principal.user_id)
    return mine.filter(status=RunStatus.SUCCEEDED, subject_user=None).exists()


def _undid(principal: Principal) -> bool:
    if not memory_app.is_on():
        return False
    return memory_app.Change.objects.unscoped().filter(undone_by=principal.actor).exists()


def _published(principal: Principal) -> bool:
    published = Workflow.objects.unscoped().filter(published_version__isnull=False)
    return published.filter(published_version__created_by_id=principal.user_id).exists()


def _invited(principal: Principal) -> bool:
    return Invitation.objects.unscoped().filter(created_by_id=principal.user_id).exists()


EVIDENCE: Mapping[Step, Callable[[Principal], bool]] = {
    Step.RUN: _ran,
    Step.RECALL: _recalled,
    Step.ISOLATE: _was_somebody_else,
    Step.UNDO: _undid,
    Step.PUBLISH: _published,
    Step.INVITE: _invited,
}
