"""Erase what was proposed or learned from a person's runs for memory that others share.

A proposal has the words that it would store and those of the memories that it is about, so it goes with either, whatever
was decided about it. What a curation says of its run may quote the run.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from operator import attrgetter, or_
from typing import Final, Self
from uuid import UUID

from django.db import connection
from django.db.models import Q

from memory.models import Curation, Entry, Namespace, Proposal


PROPOSALS: Final = Proposal._meta.db_table
CURATIONS: Final = Curation._meta.db_table
BATCH: Final = 500  # entries in one query


@dataclass(frozen=True, slots=True)
class RunProposals:
    """The proposals with a person's words, and the curations of their runs, outside of what is erased as a whole."""

    proposals: tuple[Proposal, ...] = ()
    curation_ids: tuple[UUID, ...] = ()

    @property
    def namespaces(self) -> set[str]:
        return {proposal.namespace.text for proposal in self.proposals}

    @property
    def counts(self) -> dict[str, int]:
        return {PROPOSALS: len(self.proposals), CURATIONS: len(self.curation_ids)}

    @classmethod
    def of(
        cls,
        team_id: UUID,
        run_ids: Sequence[str],
        entries: Iterable[Entry],
        erased_ids: Sequence[UUID] = (),
    ) -> Self:
        """Find what these runs led to, and the proposals about these entries."""
        proposals = Proposal.objects.unscoped().filter(team_id=team_id, run_id__in=list(run_ids))
        rows = {row.pk: row for row in proposals.select_related("namespace")}
        rows |= {row.pk: row for row in _find_about(entries)}
        curations = Curation.objects.unscoped().filter(team_id=team_id, run_id__in=list(run_ids))
        texts = _list_texts(erased_ids)
        return cls(
            tuple(row for row in rows.values() if row.namespace_id not in erased_ids),
            tuple(curations.exclude(place__in=texts).values_list("pk", flat=True)),
        )

    def delete(self) -> dict[str, int]:
        """Delete the rows, and return their numbers by table. The caller has locked the namespaces."""
        ids = [proposal.pk for proposal in self.proposals]
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT name, rows FROM memory_erase_proposals(%s, %s)",
                [ids, list(self.curation_ids)],
            )
            return dict(cursor.fetchall())


def delete_proposals_about(entries: Iterable[Entry]) -> None:
    RunProposals(tuple(_find_about(entries))).delete()


def _find_about(entries: Iterable[Entry]) -> list[Proposal]:
    """Return the proposals, open and decided ones, that are about one of the entries."""
    proposals: list[Proposal] = []
    by_namespace = sorted(entries, key=attrgetter("namespace_id"))
    for namespace_id, group in groupby(by_namespace, attrgetter("namespace_id")):
        keys = sorted({entry.key for entry in group})
        for start in range(0, len(keys), BATCH):
            proposals += _find_about_keys(namespace_id, keys[start : start + BATCH])
    return proposals


def _find_about_keys(namespace_id: UUID, keys: Sequence[str]) -> Iterable[Proposal]:
    conditions = [Q(targets__contains=[{"key": key}]) for key in keys]
    rows = Proposal.objects.unscoped().filter(reduce(or_, conditions), namespace=namespace_id)
    return rows.select_related("namespace")


def _list_texts(namespace_ids: Sequence[UUID]) -> list[str]:
    rows = Namespace.objects.unscoped().filter(pk__in=list(namespace_ids))
    return list(rows.values_list("text", flat=True))
