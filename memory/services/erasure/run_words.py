"""Tells whose words an entry of shared memory has, for the erasure of a person for whom runs wrote there.

Most words of a run stand in revisions that name the run. Whoever approves a value that waited for a review, applies a
proposal, or merges two entries by hand puts such words into another entry under their own name. The change that they made
leads there: it names the entry of the run, or the proposal that the run led to.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self
from uuid import UUID

from memory.core.records import Json
from memory.models import Entry, Proposal, Revision
from memory.models.entries import Operation


WRITING: Final = (Operation.STORE, Operation.EDIT)
MERGED_ENTRIES: Final = 2  # of a change that puts one entry into another


@dataclass(frozen=True, slots=True)
class EntryWithWords:
    """An entry with words of a person's runs."""

    entry: Entry
    has_words_of_others: bool


@dataclass(frozen=True, slots=True)
class _Revision:
    entry_id: UUID
    run_id: str
    change_id: UUID
    operation: str
    text: str  # the value as JSON
    is_new: bool  # no revision before it has the same value

    @property
    def writes(self) -> bool:
        return self.operation in WRITING


def list_entries_with_words(
    team_id: UUID, run_ids: Sequence[str], erased: Sequence[UUID] = ()
) -> list[EntryWithWords]:
    """Return the entries with words of these runs, outside of the namespaces that are erased as a whole."""
    revisions = Revision.objects.unscoped().filter(
        team_id=team_id, run_id__in=list(run_ids), operation__in=WRITING
    )
    shared = Entry.objects.unscoped().filter(team_id=team_id).exclude(namespace__in=list(erased))
    ids = set(shared.filter(pk__in=revisions.values("entry_id")).values_list("pk", flat=True))
    words = _RunWords.of(team_id, frozenset(run_ids), _load_histories(ids))
    changed = Revision.objects.unscoped().filter(
        team_id=team_id, change_id__in=[*words.changes], operation__in=WRITING
    )
    entries = shared.filter(pk__in=changed.values("entry_id")) | shared.filter(pk__in=ids)
    rows = list(entries.select_related("namespace").order_by("namespace_id", "id"))
    histories = _load_histories([row.pk for row in rows])
    return list(words.select(rows, histories))


@dataclass(frozen=True, slots=True)
class _RunWords:
    """The values that the runs wrote, those of their entries, and the changes that may have carried them elsewhere.

    ``entry_changes`` are those of the entries of the runs, with the entries that each changed. Those of proposals have none.
    """

    run_ids: frozenset[str]
    run_texts: frozenset[str]
    of_entries: frozenset[str]
    proposal_changes: frozenset[UUID]
    entry_changes: Mapping[UUID, frozenset[UUID]]
    merges: frozenset[UUID] = frozenset()

    @property
    def changes(self) -> frozenset[UUID]:
        return self.proposal_changes.union(self.entry_changes)

    @classmethod
    def of(
        cls, team_id: UUID, run_ids: frozenset[str], histories: Mapping[UUID, Sequence[_Revision]]
    ) -> Self:
        revisions = [revision for history in histories.values() for revision in history]
        proposals = Proposal.objects.unscoped().filter(team_id=team_id, run_id__in=[*run_ids])
        applied = list(proposals.exclude(change_id=None).values_list("change_id", "edited", "new"))
        proposed = {_dump(new["value"]) for _change, edited, new in applied if new and not edited}
        run_texts = {each.text for each in revisions if each.writes and each.run_id in run_ids}
        proposal_changes = frozenset(change for change, _edited, _new in applied if change)
        entry_changes: defaultdict[UUID, frozenset[UUID]] = defaultdict(frozenset)
        for each in revisions:
            entry_changes[each.change_id] |= {each.entry_id}
        return cls(
            run_ids,
            frozenset(run_texts | proposed),
            frozenset(each.text for each in revisions),
            proposal_changes,
            dict(entry_changes),
            _list_merges(team_id, entry_changes),
        )

    def select(
        self, entries: Iterable[Entry], histories: Mapping[UUID, Sequence[_Revision]]
    ) -> Iterator[EntryWithWords]:
        """Yield the entries of which a revision has words of the runs."""
        for entry in entries:
            history = [each for each in histories[entry.pk] if each.writes]
            if any(self._is_of_run(each) or self._is_carried(each) for each in history):
                yield EntryWithWords(entry, self._has_words_of_others(history))

    def _has_words_of_others(self, history: Iterable[_Revision]) -> bool:
        """Return whether somebody else has written a value of the entry. An approval of the same value adds no words."""
        own_texts: set[str] = set()
        for revision in history:
            is_carried = self._is_carried(revision) and revision.text in self.run_texts
            if self._is_of_run(revision) or is_carried:
                own_texts.add(revision.text)
                continue
            is_kept = revision.operation == Operation.EDIT and not revision.run_id
            if not is_kept or revision.text not in own_texts:
                return True
        return False

    def _is_of_run(self, revision: _Revision) -> bool:
        return revision.run_id in self.run_ids

    def _is_carried(self, revision: _Revision) -> bool:
        """Return whether somebody put words of the runs into an entry by a change of another entry, or by a proposal."""
        if not revision.is_new:
            return False
        if revision.change_id in self.proposal_changes:
            return True
        other_ids = self.entry_changes.get(revision.change_id, frozenset()) - {revision.entry_id}
        is_known = revision.text in self.of_entries or revision.change_id in self.merges
        return bool(other_ids) and is_known


def _list_merges(team_id: UUID, changes: Iterable[UUID]) -> frozenset[UUID]:
    """Return the changes of two entries, of which one may have been put into the other with words of both."""
    entries: defaultdict[UUID, set[UUID]] = defaultdict(set)
    revisions = Revision.objects.unscoped().filter(team_id=team_id, change_id__in=[*changes])
    for change_id, entry_id in revisions.order_by().values_list("change_id", "entry_id"):
        entries[change_id].add(entry_id)
    return frozenset(change for change, ids in entries.items() if len(ids) == MERGED_ENTRIES)


def _load_histories(entry_ids: Iterable[UUID]) -> Mapping[UUID, Sequence[_Revision]]:
    """Return all revisions of the entries, the oldest first."""
    rows = Revision.objects.unscoped().filter(entry__in=list(entry_ids))
    columns = ("entry_id", "run_id", "change_id", "operation", "value")
    histories: defaultdict[UUID, list[_Revision]] = defaultdict(list)
    for entry_id, run_id, change_id, operation, value in rows.order_by(
        "entry_id", "number"
    ).values_list(*columns):
        text, history = _dump(value), histories[entry_id]
        is_new = text not in {each.text for each in history}
        history.append(_Revision(entry_id, run_id, change_id, operation, text, is_new))
    return histories


def _dump(value: Json) -> str:
    return json.dumps(value, sort_keys=True)
