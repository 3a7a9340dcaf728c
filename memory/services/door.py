"""The door every memory operation goes through, in this order:

resolve the scope → policy → permission → (quota → do → revision, the verb's own) → audit; one
transaction. A refusal rolls back whatever was begun and is written down all the same.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.db import OperationalError
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.personas import played_by
from accounts.tenancy import tenant
from config.again import why_lost
from config.ids import uuid7
from memory import permissions
from memory.core.errors import AccessDenied, InvalidInput, MemoryFault, NotFound, ProviderError
from memory.core.policy import MemorySecurityPolicy, check_namespace
from memory.core.scope_kinds import SeenBy
from memory.core.scopes import ParsedNamespace, Scope, parse_namespace, resolve_namespace
from memory.models import Change, Entry, Namespace
from memory.models.entries import Operation
from memory.permissions import Place, Verb, Why
from memory.places import Elsewhere, elsewhere
from memory.policies import Rules, at_door
from memory.providers.postgres import rows
from memory.services.caller import MemoryCaller
from memory.services.pausing import Paused, is_left_off
from memory.services.trail import record, record_refusal


@dataclass(slots=True)
class Door:
    """An admitted caller at one namespace. ``detail`` becomes the audit row's."""

    caller: MemoryCaller
    place: Place
    rules: Rules
    now: datetime
    elsewhere: Elsewhere | None = None  # who keeps it, if it isn't PostgreSQL
    glass: str = ""  # the emergency access by which alone the caller is let in
    withheld: bool = False  # its person paused being recalled: for this caller nothing is there
    detail: dict[str, Any] = field(default_factory=dict)  # JSON

    @property
    def text(self) -> str:
        return self.place.named.text

    @property
    def policy(self) -> MemorySecurityPolicy:
        return self.rules.policy

    def claim(self) -> Namespace:
        """The namespace, locked; made if it is new."""
        ownership = _ownership(self.caller, self.place)
        most = self.rules.max_namespaces
        return rows.claim_namespace(self.caller.team_id, self.text, ownership, most=most)

    def claim_to_write(self, key: str, act: rows.Act) -> tuple[Namespace, rows.Standing | None]:
        """The same, and if it isn't new, how it stands there with what is to be written."""
        known = self.place.row
        ownership = _ownership(self.caller, self.place)
        standing = rows.claim_to_write(known, key, act, ownership) if known else None
        return (known, standing) if known and standing else (self.claim(), None)

    def lock(self) -> Namespace | None:
        return rows.lock_namespace(self.caller.team_id, self.text)

    def act(
        self, operation: Operation, reason: str = "", change_id: UUID | None = None
    ) -> rows.Act:
        origin = self.caller.origin
        act = rows.Act(
            operation,
            self.now,
            actor=self.caller.principal.actor,
            reason=reason,
            run_id=origin.run_id,
            node_id=origin.node_id,
            origin_key=origin.idempotency_key,
        )
        return act if change_id is None else replace(act, change_id=change_id)

    def change(
        self,
        namespace: Namespace,
        operation: Operation,
        count: int,
        reason: str,
        *,
        change_id: UUID | None = None,
    ) -> Change:
        """An act over ``count`` entries of the locked namespace, which undoes as one."""
        return Change.objects.unscoped().create(
            id=change_id or uuid7(),
            team_id=namespace.team_id,
            namespace=namespace,
            operation=operation,
            actor=self.caller.principal.actor,
            reason=reason[:500],
            entry_count=count,
            at=self.now,
        )


@contextmanager
def opened(
    caller: MemoryCaller,
    verb: Verb,
    action: str,
    *,
    scope: str | None = None,
    namespace: str | None = None,
) -> Iterator[Door]:
    """Resolve, check, hand over, audit.

    A transaction that is lost is tried again, but not once something was changed with another provider: a second
    try would change it twice.
    """
    named: ParsedNamespace | None = None
    detail: dict[str, Any] = {}
    there = _There()
    try:
        named = _named(caller, scope, namespace)
        with tenant([caller.team_id]):
            door = _admitted(caller, verb, named)
            door.detail = detail
            if door.elsewhere is not None:
                door.elsewhere = replace(door.elsewhere, changed=there.note)
                detail["provider"] = door.elsewhere.name
            if door.withheld:
                detail["paused"] = "recalling"
            if door.glass:
                detail["glass"] = door.glass
            yield door
            record(caller, action, named.text, detail)
    except MemoryFault as fault:
        subject = named.text if named else f"{scope or namespace}"
        with tenant([caller.team_id]):
            record_refusal(caller, action, subject, fault, detail)
        raise
    except OperationalError as error:
        if there.is_changed and why_lost(error):
            raise ProviderError(CHANGED_THERE) from error
        raise


CHANGED_THERE: Final = (
    "It is changed where this memory is kept, but could not be written into the trail."
)


class _There:
    """Whether anything was changed there, which no transaction takes back."""

    is_changed = False

    def note(self) -> None:
        self.is_changed = True


def would_find(
    caller: MemoryCaller, *, scope: str | None = None, namespace: str | None = None
) -> bool:
    """Whether the door would open to look, onto something that PostgreSQL keeps. Nothing is locked or written down."""
    try:
        named = _named(caller, scope, namespace)
        with tenant([caller.team_id]):
            door = _admitted(caller, "view", named)
    except MemoryFault:
        return False
    return door.place.row is not None and door.elsewhere is None and not door.withheld


def entry_place(caller: MemoryCaller, entry_id: UUID | str) -> str:
    """The namespace an entry is in. Whether the caller may know is the door's next question."""
    try:
        wanted = UUID(str(entry_id))
    except ValueError:
        raise NotFound(_("There is no such memory.")) from None
    with tenant([caller.team_id]):
        found = (
            Entry.objects.unscoped()
            .filter(team_id=caller.team_id, pk=wanted)
            .values_list("namespace__text", flat=True)
            .first()
        )
    if found is None:
        raise NotFound(_("There is no such memory."))
    return found


def key_hash(key: str) -> str:
    """Enough to recognise a key in the trail, not enough to read it there."""
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def _named(caller: MemoryCaller, scope: str | None, namespace: str | None) -> ParsedNamespace:
    if (scope is None) == (namespace is None):
        raise InvalidInput("scope: give either a scope word or a namespace.")
    return parse_namespace(namespace or resolve_namespace(str(scope), caller.identity))


def _admitted(caller: MemoryCaller, verb: Verb, named: ParsedNamespace) -> Door:
    app_id = (
        named.ids[0] if named.scope == Scope.GLOBAL else str(caller.identity.get("app_id") or "")
    )
    row, rules = at_door(caller.team_id, named.text, app_id)
    place = Place(caller.team_id, named, row)
    check_namespace(rules.policy, named.text)
    glass = ""
    if caller.reach is None:
        glass = _check_person(caller, verb, place)
    else:
        _check_run(caller, verb, place, rules)
    now = timezone.now()
    if is_left_off(caller, place.row, verb, now):
        if verb == "write":
            raise Paused
        return Door(caller, replace(place, row=None), rules, now, withheld=True)
    kept = elsewhere(caller.team_id, named, rules.policy)
    return Door(caller, place, rules, now, kept, glass)


def _check_person(caller: MemoryCaller, verb: Verb, place: Place) -> str:
    """What isn't yours isn't there; what you may see but not change is said so.

    The emergency access that alone lets them in, if that is so, for the trail.
    """
    facts = permissions.Facts(place)
    reason = next(permissions.reasons(caller.principal, verb, place, facts), None)
    if reason is Why.GLASS:
        glass = facts.glass_of(caller.principal)
        return str(glass.pk) if glass else ""
    if reason is not None:
        return ""
    scope = permissions.SCOPE_OF_VERB[verb]
    if caller.principal.kind == "key" and not caller.principal.allows(scope):
        raise AccessDenied(_("This key has no scope %(scope)s.") % {"scope": scope})
    if verb != "view" and permissions.may(caller.principal, "view", place):
        raise AccessDenied(
            _("You may look into %(namespace)s, not change it.") % {"namespace": place.named.text}
        )
    raise NotFound(_("There is no such memory."))


def _check_run(caller: MemoryCaller, verb: Verb, place: Place, rules: Rules) -> None:
    text = place.named.text
    if caller.team_id not in caller.principal.team_ids:
        raise AccessDenied(f"{text} is another team's.")
    shared = partial(permissions.is_shared_with, caller.principal, verb, place)
    if text not in (caller.reach or ()) and not shared():
        raise AccessDenied(f"This run does not reach {text}.")
    if permissions.is_somebody_elses(caller.principal, place) and not shared():
        raise AccessDenied(f"{text} belongs to somebody else.")
    changes = verb in ("write", "forget") and _is_everybodys(place)
    if changes and caller.outside_subject and not rules.subjects_write_global:
        raise AccessDenied(f"Runs for outside people may only read {text}.")


def _is_everybodys(place: Place) -> bool:
    """A workflow's own is the team's to see, but each group's to fill."""
    named = place.named
    return named.seen_by is SeenBy.TEAM and named.scope != Scope.WORKFLOW


def _ownership(caller: MemoryCaller, place: Place) -> rows.Ownership:
    """Whose a new namespace is, and who joins an old one: those of a run that is of it, never a guest."""
    named = place.named
    if place.row is not None and named.text not in (caller.reach or ()):
        return rows.NOBODY
    if named.seen_by is SeenBy.PERSON:
        if place.row is not None:
            return rows.NOBODY  # whose it is was settled when it was made; nobody joins a person
        owner = permissions.account_named(named)
        return rows.Ownership(owner_user_id=owner, persona_of_id=played_by(named.ids[0]))
    if named.seen_by is SeenBy.PARTICIPANTS:
        own = {taker} if (taker := permissions.taker_of(caller.principal)) else set()
        known = permissions.taking_part(place)
        return rows.Ownership(participants=tuple(sorted(caller.participants | own | known)))
    if named.seen_by is SeenBy.RUN and (guest := permissions.guest_of(caller.principal)):
        return rows.Ownership(participants=(guest,))  # only runs of its own are let in here
    return rows.NOBODY
