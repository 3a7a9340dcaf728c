"""Folds what runs said more than once: the repetitions become evidence for the entry that was there first.

It runs every quarter of an hour for the entries of the last hour and for working memory that expires soon, and after
each run that is curated. An entry is removed only when its run has ended and nobody reads its key.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import F, Q
from django.utils import timezone

from accounts import audit
from accounts.models import Team
from accounts.tenancy import tenant
from config.ids import uuid7
from memory.core.policy import NO_LIMITS
from memory.core.records import MemoryEntry, MemoryQuery, Tier
from memory.host import get_host
from memory.logic.entries.duplicates import NEVER_MERGED
from memory.logic.entries.repetition import can_repeat, is_generated_key, plan_fold
from memory.logic.entries.texts import join_texts
from memory.models import Change, Entry, Namespace, Revision
from memory.models.entries import Operation
from memory.providers.postgres import provider, rows
from memory.providers.postgres.vectors import RUN_SCOPES
from memory.upkeep.isolation import run_each
from memory.upkeep.promotion import MARGIN


ACTOR: Final = "folding"
REASON: Final = "said more than once"
WINDOW: Final = timedelta(hours=1)
MAX_PER_NAMESPACE: Final = 200  # the newest; what remains is left as it is
MAX_RECENT: Final = 50
MAX_SIMILAR: Final = 10
MAX_QUERY_LENGTH: Final = 2_000


def fold_all_teams(now: datetime | None = None) -> int:
    """Fold the repetitions of every team and return their number. Safe to run twice, or at the same time."""
    moment = now or timezone.now()
    teams = Team.objects.values_list("id", flat=True)
    return run_each(teams, lambda team_id: fold_team(team_id, moment), "folding_failed")


def fold_team(team_id: UUID, now: datetime) -> int:
    is_expiring = Q(tier=Tier.WORKING.value, expires_at__gt=now, expires_at__lte=now + MARGIN)
    return _fold_entries(team_id, Q(updated_at__gt=now - WINDOW) | is_expiring, now)


def fold_run(team_id: UUID, run_id: str, now: datetime) -> int:
    """Fold what a run that has ended repeated."""
    return _fold_entries(team_id, Q(source_run=run_id), now)


def _fold_entries(team_id: UUID, condition: Q, now: datetime) -> int:
    with tenant([team_id]):
        entries = Entry.objects.unscoped().filter(condition & _build_condition(), team_id=team_id)
        names = list(entries.order_by().values_list("namespace__text", flat=True).distinct())
    return run_each(
        sorted(names),
        lambda text: _fold_in_namespace(team_id, text, condition, now),
        "folding_failed",
    )


def _build_condition() -> Q:
    """Return the condition that an entry can be a repetition, as far as the database can tell."""
    is_generated = Q(source_run__gt="", key__contains=F("source_run"))
    is_in_use = Q(deleted_at=None) & ~Q(tier=Tier.QUARANTINE.value)
    is_counted = (Q(tier=Tier.WORKING.value) | is_generated) & ~Q(category__in=NEVER_MERGED)
    return is_in_use & is_counted & ~Q(namespace__scope__in=RUN_SCOPES)


def _fold_in_namespace(team_id: UUID, text: str, condition: Q, now: datetime) -> int:
    """Fold in one transaction under the namespace's lock, the oldest repetition first."""
    with tenant([team_id]):
        namespace = rows.lock_namespace(team_id, text)
        if namespace is None:
            return 0
        holding = rows.find_visible(namespace, now, holding_at=now)
        newest = holding.filter(condition & _build_condition())
        newest_rows = list(newest.order_by("-created_at", "-id")[:MAX_PER_NAMESPACE])
        entries = [rows.build_entry(row, text) for row in reversed(newest_rows)]
        repetitions = _exclude_restored(team_id, filter(can_repeat, entries))
        changed = _Folding(namespace, now).fold(repetitions)
        if changed:
            audit.record(
                team_id=team_id,
                actor=ACTOR,
                actor_kind="system",
                action="memory.folded",
                subject=text,
                detail={"keys": len(changed), "entries": changed[:50]},
            )
    return len(changed)


def _exclude_restored(team_id: UUID, entries: Iterable[MemoryEntry]) -> list[MemoryEntry]:
    """Return the entries without those that were folded before and restored since."""
    by_id = {UUID(entry.id): entry for entry in entries}
    revisions = Revision.objects.unscoped().filter(
        team_id=team_id, entry_id__in=[*by_id], actor=ACTOR, operation=Operation.FORGET
    )
    restored = set(revisions.values_list("entry_id", flat=True))
    return [entry for pk, entry in by_id.items() if pk not in restored]


class _Folding:
    """The folding of one locked namespace; all of it is one change, which can be undone as a whole."""

    def __init__(self, namespace: Namespace, now: datetime) -> None:
        self._namespace = namespace
        self._now = now
        self._change_id = uuid7()

    def fold(self, repetitions: Sequence[MemoryEntry]) -> list[str]:
        """Fold the repetitions and return the ids of those that were counted or removed."""
        team_id = self._namespace.team_id
        run_ids = sorted({entry.source.run_id for entry in repetitions} - {""})
        ended = set(get_host().list_ended_runs(team_id, run_ids)) if run_ids else set()
        changed = [
            entry.id for entry in repetitions if self._fold(entry, entry.source.run_id in ended)
        ]
        if changed:
            Change.objects.unscoped().create(
                id=self._change_id,
                team_id=self._namespace.team_id,
                namespace=self._namespace,
                operation=Operation.EDIT,
                actor=ACTOR,
                reason=REASON,
                entry_count=len(changed),
                at=self._now,
            )
        return changed

    def _fold(self, repetition: MemoryEntry, has_run_ended: bool) -> bool:
        fold = plan_fold(repetition, self._find_candidates(repetition), self._now)
        if fold is None:
            return False
        is_new = fold.params.metadata != fold.original.metadata
        run_id = repetition.source.run_id  # undoing the run takes back its evidence
        if is_new:
            context = self._build_context(Operation.EDIT, run_id)
            rows.write(self._namespace, fold.params, context, NO_LIMITS)
        if not (has_run_ended and is_generated_key(repetition.key, run_id)):
            return is_new
        removed = Entry.objects.unscoped().filter(pk=repetition.id)
        rows.forget(self._namespace, removed, self._build_context(Operation.FORGET, run_id))
        return True

    def _find_candidates(self, repetition: MemoryEntry) -> list[MemoryEntry]:
        """Return the newest entries of the namespace, and those of any age that resemble the repetition."""
        text = self._namespace.text
        same_category = {"category": repetition.category}
        words = join_texts(repetition.value)[:MAX_QUERY_LENGTH]
        queries = (
            MemoryQuery(text, filter=same_category, top_k=MAX_RECENT),
            MemoryQuery(text, query_text=words, filter=same_category, top_k=MAX_SIMILAR),
        )
        hits = [
            hit for query in queries for hit in provider.search(self._namespace, query, self._now)
        ]
        return list({hit.id: hit for hit in hits}.values())

    def _build_context(self, operation: Operation, run_id: str) -> rows.WriteContext:
        return rows.WriteContext(
            operation, self._now, ACTOR, REASON, run_id=run_id, change_id=self._change_id
        )
