"""``/api/v1/memory``: access to a namespace with its reasons, grants, emergency access and limits."""

from collections.abc import Sequence
from uuid import UUID

from django.http import HttpRequest
from django.utils.translation import gettext as _
from ninja import Query, Router
from ninja.pagination import paginate

from accounts.http.auth import api_auth
from accounts.models import TeamGroup, User
from accounts.selectors import find_group
from config.http.pages import Listing, Pages, list_uncounted
from memory import selectors, services
from memory.api.entries import build_caller
from memory.core.errors import AccessDenied
from memory.models import EmergencyAccess
from memory.schemas import access
from memory.services import MemoryCaller
from memory.services.access import emergency_access, quotas
from memory.services.access.explanation import explain_access
from memory.services.access.quotas import Limits


router = Router(auth=api_auth(), tags=["memory"])

GRANTS = "/memory/namespaces/{uuid:namespace_id}/grants"


@router.get("/memory/namespaces/{uuid:namespace_id}/access", response=access.AccessOut)
def explain_namespace_access(request: HttpRequest, namespace_id: UUID) -> access.AccessOut:
    """List the members and API keys of the team that may access the namespace, each with the permissions and their
    reasons. The caller needs permission to view the namespace.
    """
    caller = build_caller(request)
    namespace = _find_namespace(caller, namespace_id)
    return access.access_out(explain_access(caller, namespace=namespace))


@router.get(GRANTS, response=list[access.GrantOut])
@paginate(Pages)
def list_grants(request: HttpRequest, namespace_id: UUID) -> list[access.GrantOut]:
    """List the grants of the namespace; its entries inherit them. The caller needs permission to view the namespace."""
    caller = build_caller(request)
    explanation = explain_access(caller, namespace=_find_namespace(caller, namespace_id))
    return [access.grant_out(grant) for grant in explanation.grants]


@router.post(GRANTS, response={204: None})
def share_namespace(request: HttpRequest, namespace_id: UUID, body: access.GrantIn) -> None:
    """Allow a member or a group to view, write, forget or share. The caller needs permission to share the namespace."""
    caller = build_caller(request)
    namespace, recipient = _find_namespace(caller, namespace_id), _find_recipient(caller, body)
    services.share(caller, namespace=namespace, verb=body.verb, recipient=recipient)


@router.delete(GRANTS, response={204: None})
def unshare_namespace(request: HttpRequest, namespace_id: UUID, body: access.GrantIn) -> None:
    """Remove a grant; nothing changes if there is none. The caller needs permission to share the namespace."""
    caller = build_caller(request)
    namespace, recipient = _find_namespace(caller, namespace_id), _find_recipient(caller, body)
    services.unshare(caller, namespace=namespace, verb=body.verb, recipient=recipient)


@router.get("/memory/emergency-access", response=list[access.EmergencyAccessOut])
@paginate(Pages)
def list_emergency_accesses(
    request: HttpRequest, namespace: str | None = None
) -> Listing[EmergencyAccess]:
    """List your own emergency accesses and those to your memory, newest first; with the permission, all of the team.

    An API key has to pass the namespace of an external user whom it may name.
    """
    caller = build_caller(request)

    def read(offset: int, limit: int) -> list[EmergencyAccess]:
        return emergency_access.list_emergency_accesses(
            caller, namespace=namespace, limit=limit, offset=offset
        )

    return list_uncounted(read, lambda rows: _describe_accesses(caller, rows))


@router.get("/memory/subjects/{path:subject}/looks", response=list[access.EmergencyAccessOut])
@paginate(Pages)
def list_subject_accesses(request: HttpRequest, subject: str) -> Listing[EmergencyAccess]:
    """List the emergency accesses to an external user's memory, newest first. Only for the key that names the user.

    External users have no account here, so your application has to notify them.
    """
    caller = build_caller(request)

    def read(offset: int, limit: int) -> list[EmergencyAccess]:
        return emergency_access.list_subject_accesses(
            caller, subject=subject, limit=limit, offset=offset
        )

    return list_uncounted(read, lambda rows: _describe_accesses(caller, rows))


@router.post("/memory/emergency-access", response={201: access.EmergencyAccessOut})
def start_emergency_access(
    request: HttpRequest, body: access.EmergencyAccessIn
) -> access.EmergencyAccessOut:
    """Start an emergency access to a person's private memory for a limited time. The person is notified at once, and
    every read is recorded in the audit log. Only for members with the permission, not for API keys.
    """
    caller = build_caller(request)
    if caller.principal.kind != "user":
        raise AccessDenied(_("API keys can't do this. Sign in instead."))
    row = emergency_access.start_emergency_access(caller, **body.dict())
    return _describe_access(caller, row)


@router.post("/memory/emergency-access/{uuid:access_id}/end", response=access.EmergencyAccessOut)
def end_emergency_access(request: HttpRequest, access_id: UUID) -> access.EmergencyAccessOut:
    """End an emergency access early. Only for the viewer, the owner of the memory, and members with the permission."""
    caller = build_caller(request)
    row = emergency_access.end_emergency_access(caller, access_id=access_id)
    return _describe_access(caller, row)


@router.post("/memory/emergency-access/{uuid:access_id}/seen", response=access.EmergencyAccessOut)
def acknowledge_emergency_access(
    request: HttpRequest, access_id: UUID
) -> access.EmergencyAccessOut:
    """Hide the notice of an emergency access from the owner of the memory. The access stays in the list."""
    caller = build_caller(request)
    return _describe_access(caller, emergency_access.acknowledge(caller, access_id=access_id))


@router.get("/memory/policy", response=access.PolicyOut)
def read_policy(request: HttpRequest, params: Query[access.PolicyQuery]) -> access.PolicyOut:
    """Return the limits set for the team or for one application, and the limits that apply."""
    caller = build_caller(request)
    return _describe_policy(caller, quotas.get_limits(caller, app_id=params.app), params.app)


@router.put("/memory/policy", response=access.PolicyOut)
def change_policy(
    request: HttpRequest, params: Query[access.PolicyQuery], body: access.PolicyIn
) -> access.PolicyOut:
    """Replace all limits. An omitted limit follows the installation or, for an application, the team. An application's
    limits can only be stricter than the team's. Only for members who may change limits.
    """
    caller = build_caller(request)
    limits = quotas.change_limits(caller, body.to_limits(), app_id=params.app)
    return _describe_policy(caller, limits, params.app)


def _describe_policy(caller: MemoryCaller, limits: Limits, app_id: str) -> access.PolicyOut:
    return access.policy_out(limits, quotas.get_effective_limits(caller, app_id=app_id))


def _find_namespace(caller: MemoryCaller, namespace_id: UUID) -> str:
    return selectors.find_namespace(caller.principal, caller.team_id, namespace_id).text


def _find_recipient(caller: MemoryCaller, body: access.GrantIn) -> User | TeamGroup:
    if body.group is not None:
        return find_group(caller.principal, caller.team_id, body.group)
    assert body.member is not None  # noqa: S101 - GrantIn has checked it
    return selectors.find_member(caller.principal, caller.team_id, body.member)


def _describe_access(caller: MemoryCaller, row: EmergencyAccess) -> access.EmergencyAccessOut:
    return _describe_accesses(caller, [row])[0]


def _describe_accesses(
    caller: MemoryCaller, rows: Sequence[EmergencyAccess]
) -> list[access.EmergencyAccessOut]:
    reads = emergency_access.summarize_reads(rows)
    return [
        access.emergency_access_out(
            row, reads, show_entries=emergency_access.is_notified(caller.principal, row)
        )
        for row in rows
    ]
