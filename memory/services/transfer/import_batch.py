"""What an import brings, a batch at a time: entries with their past, beside or in the place of what is there."""

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from config.ids import uuid7
from memory.core.entry_codec import CONTENT, get_columns, get_state
from memory.core.errors import InvalidInput, MemoryFault, QuotaExceeded
from memory.core.policy import check_room, check_value
from memory.core.records import Source, StoreParams, Tier
from memory.core.values import check_params, search_text
from memory.logic.entries.held_entries import build_held_key
from memory.models import Change, Entry, Namespace, Revision
from memory.models.entries import Operation
from memory.providers.postgres import rows
from memory.providers.postgres.importing import Brought, bring, moved_id
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.namespace_access import NamespaceAccess
from memory.services.transfer import file_format
from memory.services.transfer.import_gate import Unit
from memory.services.transfer.import_report import Caught, Clash, Imported, Refusal, Target


# History that a file tells is told by a file: nobody here has seen who did it, and no run of ours is it.
TOLD: Final = "file:"


@dataclass(slots=True)
class Terms:
    """On which an import is made, and what it reports to."""

    caller: MemoryCaller
    report: Imported
    clash: Clash
    reason: str


@dataclass(slots=True)
class Here:
    """Where the lines go at the moment."""

    target: Target
    line: int
    change: Change | None = None
    shifts: MutableMapping[str, int] = field(default_factory=dict)
    refused: bool = False
    keys: set[int] = field(default_factory=set)  # what the names that came hash to


@dataclass(slots=True)
class Batch:
    """One transaction's worth, in a locked namespace."""

    terms: Terms
    here: Here
    access: NamespaceAccess
    namespace: Namespace
    done: int = 0
    judged: dict[str, int] = field(default_factory=dict)  # what the gate did, for the trail

    def bring(self, units: Sequence[Unit]) -> None:
        rows.expire(self.namespace, self.access.now)
        living = self._living(units)
        fresh = []
        for unit in units:
            there = self._met(unit, living) if unit.line.forgotten_at is None else None
            # Asked first: the same file brought in once more finds the first of the two here.
            if unit.line.forgotten_at is None and self._is_named_twice(unit):
                continue
            if there is not None and self._is_settled(unit, there):
                continue
            if there is None:
                fresh.append(unit)
            else:
                self._overwrite(unit, there)
        self._add(fresh)
        if self.here.change is not None:
            self.here.change.entry_count += self.done
            self.here.change.save(update_fields=["entry_count"])

    def _living(self, units: Sequence[Unit]) -> dict[str, Entry]:
        """By the keys they have, or would have if they were held apart."""
        lines = [unit for unit in units if unit.line.forgotten_at is None]
        keys = {unit.line.key for unit in lines}
        keys |= {build_held_key(unit.line.key) for unit in lines if unit.is_held}
        return {one.key: one for one in rows.living(self.namespace).filter(key__in=keys)}

    def _met(self, unit: Unit, living: Mapping[str, Entry]) -> Entry | None:
        """What lives under its key already. What has to wait takes nothing that is in use out of use."""
        there = living.get(unit.line.key)
        in_use = there is not None and there.tier != Tier.QUARANTINE
        if there is None or not in_use or not unit.is_held or self._is_kept(unit, there):
            return there
        unit.hold_apart()
        return living.get(unit.line.key)

    def _is_settled(self, unit: Unit, there: Entry) -> bool:
        target = self.here.target
        if _says_the_same(unit, there):
            target.same += 1
        elif self._is_kept(unit, there):
            target.kept += 1
        else:
            return False
        return True

    def _is_kept(self, unit: Unit, there: Entry) -> bool:
        """Whether what is here holds: also where the file says nothing else."""
        older = unit.line.updated_at <= there.updated_at
        mine = self.terms.clash is Clash.MINE or (self.terms.clash is Clash.NEWER and older)
        return mine or _says_the_same(unit, there)

    def _is_named_twice(self, unit: Unit) -> bool:
        """Without their secrets two keys of a file may be one."""
        mark = hash(unit.line.key)
        if mark in self.here.keys:
            self._refuse(
                unit,
                InvalidInput(_("Another memory in the file has the same key in this namespace.")),
            )
            return True
        self.here.keys.add(mark)
        return False

    def _overwrite(self, unit: Unit, there: Entry) -> None:
        """What the file tells of the time before comes with it, after what was here and before what is from now on."""
        line, now = unit.line, self.access.now
        try:
            self._check_end(unit)
            ttl = (line.expires_at - now).total_seconds() if line.expires_at else None
            params = StoreParams(
                namespace=self.namespace.text,
                key=line.key,
                ttl_seconds=ttl,
                source=Source(actor=_told(line.source.actor, 120), rule=line.source.rule),
                **get_state(line, CONTENT),
            )
            check_params(params)
            check_value(self.access.policy, params.value)
            act = self.access.act(Operation.STORE, self.terms.reason, self._change())
            with transaction.atomic():
                self._tell_past(unit, there)
                rows.write(self.namespace, params, act, self.access.policy)
        except MemoryFault as fault:
            self._refuse(unit, fault)
            return
        self.here.target.overwritten += 1
        self.done += 1
        self._tell(unit)

    def _tell_past(self, unit: Unit, there: Entry) -> None:
        """Told today: a look back at an earlier day finds what was here then, not what was so elsewhere."""
        told = [_retold(there, one, self._change(), self.access.now) for one in unit.past[:-1]]
        for number, revision in enumerate(told, there.revision + 1):
            revision.number = number
        Revision.objects.unscoped().bulk_create(told)
        there.revision += len(told)
        there.save(update_fields=["revision"])

    def _add(self, units: Sequence[Unit]) -> None:
        self.namespace.refresh_from_db(fields=["entry_count", "byte_count"])
        taken = self._taken([unit.line.id for unit in units])
        brought: list[Brought] = []
        count = size = 0
        for unit in units:
            try:
                bytes_ = check_value(self.access.policy, unit.line.value)
                if unit.line.forgotten_at is None:
                    self._check_end(unit)
                    self._check_room(count + 1, size + bytes_)
                    count, size = count + 1, size + bytes_
            except (QuotaExceeded, InvalidInput) as fault:
                self._refuse(unit, fault)
                continue
            if (one := self._brought(unit, bytes_, taken)) is not None:
                brought.append(one)
                self._tell(unit)
        if brought:
            policy = self.access.policy
            rows.take_room(self.namespace, policy, entries=count, size=size)
            bring(self.namespace, brought, self.here.shifts)
        self.here.target.new += count
        self.done += count

    def _check_end(self, unit: Unit) -> None:
        end = unit.said.expires_at  # what is held has none any more
        if end is not None and end <= self.access.now:
            raise InvalidInput(_("Already expired."))

    def _check_room(self, entries: int, size: int) -> None:
        row = self.namespace
        check_room(
            self.access.policy,
            row.text,
            entries=row.entry_count + entries,
            size=row.byte_count + size,
        )

    def _taken(self, old: Sequence[UUID]) -> set[UUID]:
        """Of these ids, and of those they would get here, the ones that are here."""
        wanted = [*old, *(moved_id(self.namespace, one) for one in old)]
        found = Entry.objects.unscoped().filter(namespace=self.namespace, pk__in=wanted)
        return set(found.values_list("pk", flat=True))

    def _brought(self, unit: Unit, size: int, taken: set[UUID]) -> Brought | None:
        """None: what was forgotten over there, and is here as history already."""
        line, now = unit.line, self.access.now
        own = moved_id(self.namespace, line.id)
        if line.forgotten_at is not None and not taken.isdisjoint((own, line.id)):
            return None
        if own in taken:
            own = uuid7()
        entry = Entry(
            id=own,
            team_id=self.namespace.team_id,
            namespace=self.namespace,
            key=line.key,
            text=search_text(line.key, line.value),
            size=size,
            revision=line.revision,
            created_at=min(line.created_at, now),
            updated_at=min(line.updated_at, now),
            expires_at=line.expires_at,
            deleted_at=min(line.forgotten_at, now) if line.forgotten_at else None,
            source_actor=_told(line.source.actor, 120),
            source_run=_told(line.source.run_id, 80),
            source_node=line.source.node_id,
            source_message=line.source.message,
            source_rule=line.source.rule,
            **get_columns(line, CONTENT),
        )
        change = self._change()
        past = unit.past or [_only(line)]
        revisions = [_revision(entry, one, change, now) for one in past]
        return Brought(entry, line.position, revisions)

    def _change(self) -> UUID:
        """Made with the first entry that needs it."""
        if self.here.change is None:
            change = self.access.change(self.namespace, Operation.STORE, 0, self.terms.reason)
            self.here.change = change
            self.terms.report.changes.append(self.here.change.pk)
        return self.here.change.pk

    def _tell(self, unit: Unit) -> None:
        """What the gate did to it, now that it comes."""
        target, line = self.here.target, unit.line
        held = int(unit.is_held and line.forgotten_at is None)
        target.redacted += unit.secret_lines
        target.held += held
        for name, more in (("redacted", unit.secret_lines), ("held", held)):
            if more:
                self.judged[name] = self.judged.get(name, 0) + more
        for one in unit.found:
            caught = Caught(one.line, target.named, line.key, one.secrets, one.orders)
            self.terms.report.catch(caught)

    def _refuse(self, unit: Unit, fault: MemoryFault) -> None:
        self.here.target.refused += 1
        self.terms.report.refuse(
            Refusal(unit.number, self.here.target.named, unit.line.key, str(fault))
        )


def _says_the_same(unit: Unit, there: Entry) -> bool:
    """As it stands in the file, which somebody here may have agreed to, or as the gate left it."""
    return any(_is_same(line, there) for line in (unit.said, unit.line))


def _is_same(line: file_format.EntryLine, there: Entry) -> bool:
    here, said = get_columns(there), get_columns(line)
    return here == {**said, "position": there.position}


def _told(said: str, longest: int) -> str:
    return said if not said or said.startswith(TOLD) else f"{TOLD}{said}"[:longest]


def _only(line: file_format.EntryLine) -> file_format.RevisionLine:
    """An entry without a past is at its only revision."""
    return file_format.RevisionLine(
        entry=line.id,
        number=line.revision,
        operation="forget" if line.forgotten_at else "store",
        actor=line.source.actor,
        at=line.forgotten_at or line.updated_at,
        **get_columns(line),
    )


def _revision(
    entry: Entry, line: file_format.RevisionLine, change: UUID, now: datetime
) -> Revision:
    return Revision(
        team_id=entry.team_id,
        entry=entry,
        number=line.number,
        operation=line.operation,
        actor=_told(line.actor, 120),
        reason=line.reason,
        run_id=_told(line.run_id, 80),
        node_id=line.node_id,
        change_id=change,
        at=min(line.at, now),
        **get_columns(line),
    )


def _retold(there: Entry, line: file_format.RevisionLine, change: UUID, now: datetime) -> Revision:
    """As history of an entry that has one of its own; when it was over there stands in the reason."""
    made = _revision(there, line, change, now)
    said = _("%(when)s in the file") % {"when": line.at.isoformat(timespec="minutes")}
    made.reason = (f"{said}: {line.reason}" if line.reason else said)[:500]
    made.position, made.at = there.position, now
    return made
