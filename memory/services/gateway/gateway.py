"""The gateway of every memory operation.

In one transaction, the gateway resolves the scope, checks policy and permission, runs the operation (which checks its
quota and adds its revisions), and writes the audit entry. A refusal rolls the operation back, but is still audited.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import OperationalError
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.principals import get_key_id
from accounts.request_transaction import pausable_tenant
from accounts.tenancy import tenant
from config.retry import find_conflict
from memory import permissions
from memory.core.errors import (
    AccessDenied,
    InvalidInput,
    MemoryFault,
    NotFound,
    ProviderAway,
    ProviderError,
)
from memory.core.identifiers import normalize_key
from memory.core.policy import check_namespace
from memory.core.scope_kinds import SeenBy
from memory.core.scopes import (
    ParsedNamespace,
    Scope,
    parse_namespace,
    replace_group,
    resolve_namespace,
)
from memory.host import get_host
from memory.models import Entry
from memory.permissions import AccessReason, NamespaceTarget, Verb
from memory.policies import BOOKKEEPING, Rules
from memory.providers.postgres import rows
from memory.routing import find_external_provider
from memory.services.access.pause_state import Paused, is_verb_paused
from memory.services.gateway.audit_lines import record, record_refusal
from memory.services.gateway.caller import MemoryCaller, list_reachable
from memory.services.gateway.namespace_access import NamespaceAccess, NamespaceLookup
from memory.services.gateway.run_people import note_writer


CHANGED_EXTERNALLY: Final = (
    "It may be changed where this memory is kept, but could not be written into the trail."
)


def authorize(
    caller: MemoryCaller,
    verb: Verb,
    action: str,
    *,
    scope: str | None = None,
    namespace: str | None = None,
) -> NamespaceAccess:
    """Resolve the namespace, and check policy and permission. A refusal is audited under ``action``.

    A caller with slow work to do before the transaction uses this and passes the result to ``open_namespace``.
    """
    request = _Request(caller, scope, namespace)
    with _audit_refusals(request, action), tenant([caller.team_id]):
        return _admit(caller, verb, request.resolve(), NamespaceLookup())


@contextmanager
def open_namespace(
    caller: MemoryCaller,
    verb: Verb,
    action: str,
    *,
    scope: str | None = None,
    namespace: str | None = None,
    access: NamespaceAccess | None = None,
    lookup: NamespaceLookup | None = None,
) -> Iterator[NamespaceAccess]:
    """Authorize the caller unless ``access`` is given, yield the namespace, and write the audit entry, in one
    transaction.

    A call of a provider that is outside divides the transaction: no connection is held meanwhile. After a write by an
    external provider, a conflict becomes a ProviderError, because a retry would write twice.

    Operations that share a ``lookup`` share a transaction, which the caller has begun. They have no savepoints: if one of
    them fails, all are rolled back.
    """
    request = _Request(caller, scope, namespace)
    block = pausable_tenant([caller.team_id]) if lookup is None else nullcontext()
    with _audit_refusals(request, action), block:
        if access is None:
            access = _admit(caller, verb, request.resolve(), lookup or NamespaceLookup())
        else:
            request.subject, access.now = access.text, timezone.now()
        access.detail = request.detail
        access.on_external_write = request.record_external_write
        _add_circumstances(access)
        if verb != "view":
            note_writer(caller, access.text)
        yield access
        record(caller, action, access.text, access.detail)


def open_entry(
    caller: MemoryCaller, verb: Verb, action: str, entry_id: UUID | str
) -> AbstractContextManager[NamespaceAccess]:
    """Open the namespace of an entry, forgotten or not. Raise NotFound, unaudited, if the team has no such entry."""
    return open_namespace(caller, verb, action, namespace=get_shared_namespace(caller, [entry_id]))


def find_place(caller: MemoryCaller, entry_id: UUID | str) -> tuple[str, str]:
    """Return the namespace and the key of an entry, forgotten or not, without a check of the permission."""
    try:
        with tenant([caller.team_id]):
            entries = Entry.objects.unscoped().filter(
                team_id=caller.team_id, pk=UUID(str(entry_id))
            )
            place = entries.values_list("namespace__text", "key").first()
    except ValueError:
        place = None
    if place is None:
        raise NotFound(_("Memory not found."))
    return place


def get_shared_namespace(caller: MemoryCaller, entry_ids: Sequence[UUID | str]) -> str:
    """Return the one namespace of all these entries, without a check of the permission.

    Raise NotFound if an entry is missing, and InvalidInput if the entries are in several namespaces.
    """
    try:
        ids = {UUID(str(entry_id)) for entry_id in entry_ids}
    except ValueError:
        raise NotFound(_("Memory not found.")) from None
    with tenant([caller.team_id]):
        entries = Entry.objects.unscoped().filter(team_id=caller.team_id, pk__in=ids)
        namespaces = list(entries.values_list("namespace__text", flat=True))
    if len(namespaces) != len(ids):
        raise NotFound(_("Memory not found."))
    if len(set(namespaces)) != 1:
        raise InvalidInput("entries: must all be in one namespace.")
    return namespaces[0]


def lock_namespaces(team_id: UUID, namespaces: Iterable[str]) -> None:
    """Lock the namespaces in id order, so that two writers to several of them can't deadlock."""
    with tenant([team_id]):
        rows.lock_namespaces(team_id, namespaces)


def hash_key(key: str) -> str:
    """Return a hash that identifies a key in the audit log without revealing it."""
    return hashlib.sha256(normalize_key(key).encode()).hexdigest()[:16]


@dataclass(slots=True)
class _Request:
    """A request for a namespace, with what the audit entry of its refusal would contain."""

    caller: MemoryCaller
    scope: str | None
    namespace: str | None
    detail: dict[str, Any] = field(default_factory=dict)  # JSON, of the audit row
    subject: str = ""
    is_written_externally: bool = False

    def __post_init__(self) -> None:
        self.subject = f"{self.scope or self.namespace}"

    def resolve(self) -> ParsedNamespace:
        if (self.scope is None) == (self.namespace is None):
            raise InvalidInput("scope: use either a scope or a namespace.")
        identity = self.caller.identity
        parsed = parse_namespace(self.namespace or resolve_namespace(str(self.scope), identity))
        self.subject = parsed.text
        return parsed

    def record_external_write(self, changed: bool) -> None:
        self.is_written_externally = changed


@contextmanager
def _audit_refusals(request: _Request, action: str) -> Iterator[None]:
    """Record a refusal in the audit log. The record stays although the operation is rolled back."""
    try:
        yield
    except MemoryFault as fault:
        if isinstance(fault, ProviderAway) and request.caller.origin.idempotency_key:
            raise  # the step of a run waits, and tries it again
        with tenant([request.caller.team_id]):
            record_refusal(request.caller, action, request.subject, fault, request.detail)
        raise
    except OperationalError as error:
        if request.is_written_externally and find_conflict(error):
            raise ProviderError(CHANGED_EXTERNALLY) from error
        raise


def _add_circumstances(access: NamespaceAccess) -> None:
    """Add the unusual circumstances of the access to its audit entry."""
    if access.external is not None:
        access.detail["provider"] = access.external.name
    if access.is_withheld:
        access.detail["paused"] = "recalling"
    if access.emergency_access:
        access.detail["emergency_access"] = access.emergency_access


def _admit(
    caller: MemoryCaller, verb: Verb, parsed: ParsedNamespace, lookup: NamespaceLookup
) -> NamespaceAccess:
    """Return the access to the namespace, or raise an error if policy, permission or a pause forbids it."""
    is_global = parsed.scope == Scope.GLOBAL
    app_id = parsed.ids[0] if is_global else str(caller.identity.get("app_id") or "")
    row, rules = lookup.find(caller.team_id, parsed.text, app_id)
    if caller.is_bookkeeping:
        rules = replace(rules, policy=BOOKKEEPING)
    target = NamespaceTarget(caller.team_id, parsed, row)
    check_namespace(rules.policy, parsed.text)
    emergency_access = ""
    if caller.reach is None:
        emergency_access = _check_person(caller, verb, target)
    else:
        _check_run(caller, verb, target, rules)
    now = timezone.now()
    if row is not None and row.paused and is_verb_paused(caller, row, verb, now):
        if verb == "write":
            raise Paused
        empty_target = replace(target, row=None)
        return NamespaceAccess(caller, verb, empty_target, rules, now, is_withheld=True)
    external = None
    if settings.MEMORY_PLACES:
        external = find_external_provider(caller.team_id, parsed, rules.policy)
    return NamespaceAccess(caller, verb, target, rules, now, external, emergency_access)


def _check_person(caller: MemoryCaller, verb: Verb, target: NamespaceTarget) -> str:
    """Check that a person or a key has the permission. Raise NotFound for namespaces that they can't view.

    Return the id of the emergency access if it is the only reason for the permission, otherwise "".
    """
    facts = permissions.AccessFacts(target)
    reason = next(permissions.find_reasons(caller.principal, verb, target, facts), None)
    if reason is AccessReason.EMERGENCY_ACCESS:
        access = facts.find_emergency_access(caller.principal)
        return str(access.pk) if access else ""
    if reason is not None:
        return ""
    scope = permissions.SCOPE_OF_VERB[verb]
    if caller.principal.kind == "key" and not caller.principal.allows(scope):
        raise AccessDenied(
            _("This API key doesn't have the permission %(scope)s.") % {"scope": scope}
        )
    if verb != "view" and permissions.is_allowed(caller.principal, "view", target):
        raise AccessDenied(
            _("You can view %(namespace)s but not edit it.") % {"namespace": target.parsed.text}
        )
    raise NotFound(_("Memory not found."))


def _check_run(caller: MemoryCaller, verb: Verb, target: NamespaceTarget, rules: Rules) -> None:
    text = target.parsed.text
    if caller.team_id not in caller.principal.team_ids:
        raise AccessDenied(f"{text} belongs to another team.")
    is_shared = partial(permissions.is_shared_with, caller.principal, verb, target)
    if verb == "view" and _is_named_knowledge(caller, target):
        if permissions.is_allowed(caller.principal, verb, target):
            return
        message = _(
            "The knowledge base %(name)s can't be read: whoever started the run can't view it."
        )
        raise AccessDenied(message % {"name": text})
    is_reachable = text in (caller.reach or ()) or is_shared()
    if not is_reachable and not _is_own_group(caller, verb, target):
        raise AccessDenied(f"This run has no access to {text}.")
    if permissions.is_owned_by_another(caller.principal, target) and not is_shared():
        raise AccessDenied(f"{text} belongs to another user.")
    is_team_change = verb in ("write", "forget") and _is_shared_by_team(target)
    if not is_team_change or not caller.is_for_external_user or rules.subjects_write_global:
        return
    if not _has_key_permission(caller, verb, target):
        raise AccessDenied(f"Runs for external users can only read {text}.")


def _is_named_knowledge(caller: MemoryCaller, target: NamespaceTarget) -> bool:
    """Return whether the namespace is a knowledge base that the run's document names, beyond those of the run itself."""
    parsed = target.parsed
    is_named = parsed.scope == Scope.GLOBAL and parsed.text in caller.knowledge_bases
    return is_named and parsed.text not in (caller.reach or ())


def _is_own_group(caller: MemoryCaller, verb: Verb, target: NamespaceTarget) -> bool:
    """Return whether the run's person may view the namespace as that of another group of theirs.

    It must be in the memory stream of the run's own workflows. The person must have a run in the group, or an entry
    that they wrote themselves; a key that names many people is none of them.
    """
    parsed, identity = target.parsed, caller.identity
    if verb != "view" or parsed.scope != Scope.WORKFLOW:
        return False
    group = parsed.ids[-1]
    if parsed.text not in list_reachable(replace_group(identity, group)):
        return False
    if get_host().has_run_in_group(caller.team_id, identity, group):
        return True
    user_id = caller.principal.user_id
    if target.row is None or user_id is None or identity.get("user_id") != str(user_id):
        return False
    return rows.find_living(target.row).filter(source_actor=f"user:{user_id}").exists()


def _has_key_permission(caller: MemoryCaller, verb: Verb, target: NamespaceTarget) -> bool:
    """Return whether an API key started the run that may do the same itself, without a run."""
    is_started_by_key = get_key_id(caller.principal) is not None
    return is_started_by_key and permissions.is_allowed(caller.principal, verb, target)


def _is_shared_by_team(target: NamespaceTarget) -> bool:
    """Return whether all runs of the team share the namespace, unlike a workflow's, in which each group has its own."""
    parsed = target.parsed
    return parsed.seen_by is SeenBy.TEAM and parsed.scope != Scope.WORKFLOW
