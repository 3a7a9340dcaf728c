"""Notes for whom the runs were that wrote shared memory, so that an erasure finds it when the runs are gone.

A run is noted when it first writes. Upkeep notes the runs of before, as long as they exist, and drops notes that
nothing needs.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet

from accounts.models import Team
from accounts.tenancy import tenant
from memory.core.scopes import Scope
from memory.host import get_host
from memory.models import Curation, Proposal, Revision, RunPerson
from memory.upkeep.isolation import run_each


# These scopes are erased as a whole: they are of the person, or of one of its conversations and runs.
OWN_SCOPES: Final = (Scope.USER, Scope.CONVERSATION, Scope.RUN, Scope.RUN_METADATA)
BATCH: Final = 1000  # runs in one transaction
# What runs lead to in shared memory, and where each row names its namespace.
_NAMESPACES: Final[Mapping[Any, str]] = {Revision: "entry__namespace", Proposal: "namespace"}


def note_runs(team_id: UUID, run_ids: Sequence[str]) -> int:
    """Note for whom these runs are, in the caller's transaction. Nobody is noted for those that don't exist any more."""
    if not run_ids:
        return 0
    subjects = get_host().list_subjects(team_id, run_ids)
    rows = [
        RunPerson(team_id=team_id, run_id=run_id, subject=subjects.get(run_id, ""))
        for run_id in run_ids
    ]
    RunPerson.objects.unscoped().bulk_create(rows, ignore_conflicts=True)
    return len(rows)


def list_noted_runs(team_id: UUID, person_ids: Iterable[str]) -> list[str]:
    """Return the runs for these people that wrote shared memory, whether or not they still exist."""
    rows = _find_noted(team_id, person_ids).order_by("run_id")
    return list(rows.values_list("run_id", flat=True))


def forget_noted_runs(team_id: UUID, person_ids: Iterable[str]) -> int:
    count, _by_model = _find_noted(team_id, person_ids).delete()
    return count


def note_all_teams() -> int:
    """Note the people of every team's runs. Safe to run twice, or at the same time."""
    return run_each(Team.objects.values_list("id", flat=True), note_team, "run_people_failed")


def note_team(team_id: UUID) -> int:
    """Return the number of runs that were noted, which leaves out those that are noted already."""
    with tenant([team_id]):
        _drop_needless(team_id)
    total = count = _note_batch(team_id)
    while count == BATCH:
        count = _note_batch(team_id)
        total += count
    return total


def _note_batch(team_id: UUID) -> int:
    with tenant([team_id]):
        noted = RunPerson.objects.unscoped().filter(team_id=team_id, run_id=OuterRef("run_id"))
        run_ids: set[str] = set()
        for model, namespace in _NAMESPACES.items():
            rows = model.objects.unscoped().filter(~Exists(noted), team_id=team_id)
            shared = rows.exclude(run_id="").exclude(**{f"{namespace}__scope__in": OWN_SCOPES})
            ids = shared.order_by("run_id").values_list("run_id", flat=True)
            run_ids.update(ids.distinct()[: BATCH - len(run_ids)])
        return note_runs(team_id, sorted(run_ids))


def _find_noted(team_id: UUID, person_ids: Iterable[str]) -> QuerySet[RunPerson]:
    return RunPerson.objects.unscoped().filter(team_id=team_id, subject__in=list(person_ids))


def _drop_needless(team_id: UUID) -> None:
    """Delete the notes about runs whose words are in no memory, proposal or curation any more."""
    notes = RunPerson.objects.unscoped().filter(team_id=team_id)
    for model in (Revision, Proposal, Curation):
        rows = model.objects.unscoped().filter(team_id=team_id, run_id=OuterRef("run_id"))
        notes = notes.filter(~Exists(rows))
    notes.delete()
