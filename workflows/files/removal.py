"""Removes files: at once out of sight, and their contents after the commit, or later if the store can't be reached.

The row of a removed file names nobody any more. It stays until its content is deleted, so that no content is left
behind by a server that dies in between.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Final
from uuid import UUID

import structlog
from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.models import Team
from accounts.tenancy import tenant
from workflows.files import contents
from workflows.models import Run, StoredFile


# The time that a file is kept after its last run is gone, so that a run that begins now still finds it.
GRACE: Final = timedelta(hours=1)
BATCH: Final = 500
_ORPHANS = """
    select f.id from workflows_storedfile f
    where f.team_id = %s and f.removed_at is null and f.expires_at is null and f.created_at < %s
      and f.origin <> 'document' and not exists (select 1 from workflows_run r where r.id = any (f.run_ids))
    order by f.id limit %s
"""

log = structlog.get_logger(__name__)


def remove_files(team_id: UUID, rows: "QuerySet[StoredFile]") -> int:
    """Remove files in the caller's transaction, and delete their contents after the commit. Return their number."""
    count = rows.filter(removed_at__isnull=True).update(
        removed_at=timezone.now(),
        expires_at=None,
        name="",
        sha256="",
        subject="",
        subject_user=None,
        started_by=None,
        api_key=None,
        run_ids=[],
    )
    if count:
        transaction.on_commit(lambda: delete_contents(team_id))
    return count


def remove_of_runs(team_id: UUID, run_ids: Iterable[UUID]) -> int:
    """Remove the files of runs that have just been deleted, without those that another run has, too."""
    rows = StoredFile.objects.unscoped().filter(team_id=team_id, run_ids__overlap=[*run_ids])
    ids = list(rows.values_list("pk", "run_ids"))
    used = {run_id for _pk, run_ids in ids for run_id in run_ids}
    present = set(Run.objects.unscoped().filter(pk__in=used).values_list("pk", flat=True))
    gone = [pk for pk, run_ids in ids if present.isdisjoint(run_ids)]
    return remove_files(team_id, StoredFile.objects.unscoped().filter(pk__in=gone))


def delete_contents(team_id: UUID) -> int:
    """Delete the contents of removed files, then their rows. What fails is left for the next call."""
    with tenant([team_id]):
        rows = StoredFile.objects.unscoped().filter(team_id=team_id, removed_at__isnull=False)
        pairs = list(rows.order_by("id").values_list("pk", "path")[:BATCH])
    deleted = []
    for pk, path in pairs:
        try:
            contents.delete(path)
        except Exception as error:  # whatever a store raises; the row stays, and upkeep tries again
            log.warning("file_not_deleted", file=str(pk), why=type(error).__name__)
        else:
            deleted.append(pk)
    with tenant([team_id]):
        StoredFile.objects.unscoped().filter(pk__in=deleted).delete()
    return len(deleted)


def tidy_files() -> int:
    """Remove what nobody has used or has any more, of every team, and return how many contents were deleted."""
    return sum(map(_tidy_team, Team.objects.values_list("id", flat=True)))


def _tidy_team(team_id: UUID) -> int:
    now = timezone.now()
    with tenant([team_id]):
        rows = StoredFile.objects.unscoped().filter(team_id=team_id)
        remove_files(team_id, rows.filter(expires_at__lt=now))
        with connection.cursor() as cursor:
            cursor.execute(_ORPHANS, [team_id, now - GRACE, BATCH])
            orphans = [pk for (pk,) in cursor.fetchall()]
        remove_files(team_id, rows.filter(pk__in=orphans))
    return delete_contents(team_id) + _sweep(team_id)


def _sweep(team_id: UUID) -> int:
    """Delete contents without a row, as an upload leaves them whose transaction was rolled back."""
    try:
        paths = [*contents.list_recent(team_id)]
    except Exception as error:  # as above
        log.warning("files_not_listed", team=str(team_id), why=type(error).__name__)
        return 0
    with tenant([team_id]):
        rows = StoredFile.objects.unscoped().filter(Q(path__in=paths), team_id=team_id)
        known = set(rows.values_list("path", flat=True))
    unknown = [path for path in paths if path not in known]
    for path in unknown:
        contents.delete(path)
    return len(unknown)
