"""What a prompt says beside an entry: who said it, and what disagrees with it as long as nobody has decided.

It takes at most four queries, however many entries there are. Memory that another provider keeps has no notes.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Final
from uuid import UUID

from accounts.models import User
from memory.core.entry_codec import ENTRY
from memory.core.filters import is_same_json
from memory.core.recall.floor import build_found
from memory.core.recall.selection import holds
from memory.core.records import MemoryEntry, MemoryQuery, NotedEntry
from memory.core.scope_kinds import SeenBy
from memory.host import get_host
from memory.logic.entries.origins import get_untrusted_origin
from memory.logic.review.proposals import CONTRADICTING, SUPERSEDES, ChangeKind, ReviewState
from memory.models import Proposal
from memory.providers.postgres import rows
from memory.services.gateway.namespace_access import NamespaceAccess


# The part, instead of a score, of an entry that is there because it disagrees with one that was recalled.
DISAGREES_PART: Final = "disagrees"


def add_notes(
    access: NamespaceAccess, query: MemoryQuery, entries: list[MemoryEntry]
) -> list[MemoryEntry]:
    """Return the entries in their order, those with notes as ``NotedEntry``."""
    if access.external is not None:
        return entries
    others = _load_disagreeing(access, query, entries)
    all_entries = list({entry.id: entry for entry in (*chain(*others.values()), *entries)}.values())
    speakers = _name_speakers(access, all_entries)
    noted_entries = {
        entry.id: NotedEntry(
            **{name: getattr(entry, name) for name in ENTRY}, speaker=speakers.get(entry.id, "")
        )
        for entry in all_entries
        if entry.id in speakers or entry.id in others
    }
    result = [
        replace(
            noted_entries[entry.id],
            disagrees_with=tuple(noted_entries[each.id] for each in others[entry.id]),
        )
        if entry.id in noted_entries
        else entry
        for entry in entries
    ]
    return build_found(result, getattr(entries, "left_out", ()))


def list_shown(entries: Iterable[MemoryEntry]) -> list[MemoryEntry]:
    """Return the entries and those that disagree with them, each once."""
    entries_by_id = {entry.id: entry for entry in entries}
    for entry in list(entries_by_id.values()):
        for other in entry.disagrees_with if isinstance(entry, NotedEntry) else ():
            entries_by_id.setdefault(other.id, other)
    return list(entries_by_id.values())


def _load_disagreeing(
    access: NamespaceAccess, query: MemoryQuery, entries: Sequence[MemoryEntry]
) -> Mapping[str, list[MemoryEntry]]:
    """Return the entries that disagree with each of these, by id: the pairs that are proposed and still say the same."""
    others: dict[str, list[MemoryEntry]] = defaultdict(list)
    row = access.target.row
    if row is None or not entries:
        return others
    by_key = {entry.key: entry for entry in entries}
    proposals = Proposal.objects.unscoped().filter(
        namespace=row,
        state=ReviewState.OPEN.value,
        kind=ChangeKind.MERGE.value,
        new__metadata__has_key=SUPERSEDES,
    )
    pairs = [
        targets
        for targets in proposals.order_by("id").values_list("targets", flat=True)
        if len(targets) == CONTRADICTING and any(target["key"] in by_key for target in targets)
    ]
    moment = query.valid_at or access.now
    missing = {target["key"] for targets in pairs for target in targets} - by_key.keys()
    if missing:
        visible = rows.find_visible(
            row,
            access.now,
            holding_at=moment,
            for_prompt=True,
            without_lessons=query.leaves_out_lessons,
        )
        by_key |= {
            each.key: replace(rows.build_entry(each, access.text), explain={DISAGREES_PART: 1.0})
            for each in visible.filter(key__in=missing)
        }
    for targets in pairs:
        present = [by_key.get(target["key"]) for target in targets]
        pair = [entry for entry in present if entry is not None and holds(entry, moment)]
        values = [target["value"] for target in targets]
        if len(pair) == CONTRADICTING and all(
            is_same_json(entry.value, value) for entry, value in zip(pair, values, strict=True)
        ):
            first, second = pair
            others[first.id].append(second)
            others[second.id].append(first)
    return others


def _name_speakers(access: NamespaceAccess, entries: Sequence[MemoryEntry]) -> Mapping[str, str]:
    """Return the names of the members who said these entries, by the entry's id; nothing in one's own memory.

    Members see each other's names. Who has no account in the team, and runs for them, see nobody's.
    """
    caller, seen_by = access.caller, access.target.parsed.seen_by
    reader = caller.principal
    is_member = reader.user_id is not None and reader.get_role(caller.team_id) is not None
    if seen_by not in (SeenBy.TEAM, SeenBy.PARTICIPANTS) or not is_member:
        return {}
    if caller.is_for_external_user:
        return {}
    statements = [entry for entry in entries if _is_statement(entry)]
    run_ids = {entry.source.run_id for entry in statements if entry.source.run_id}
    subjects = get_host().list_subjects(caller.team_id, run_ids) if run_ids else {}
    people: dict[str, UUID] = {}
    for entry in statements:
        # Who acts in a run may be somebody else than the person for whom it is.
        actor = entry.source.actor.removeprefix("user:")
        with suppress(ValueError):
            people[entry.id] = UUID(subjects.get(entry.source.run_id, actor))
    ids = set(people.values())
    if not ids or (seen_by is SeenBy.PARTICIPANTS and len(ids) == 1):
        return {}  # a conversation of one person is their own memory
    members = User.objects.filter(pk__in=ids, memberships__team=caller.team_id)
    names = dict(members.values_list("pk", "name"))
    return {id_: names[user_id] for id_, user_id in people.items() if names.get(user_id)}


def _is_statement(entry: MemoryEntry) -> bool:
    """Return whether the entry is what a person said, and not what a rule, a model or a tool made of it."""
    role = entry.metadata.get("role", "user")
    return not entry.source.rule and role == "user" and not get_untrusted_origin(entry.metadata)
