"""``/api/v1/memory`` of rights: grants, who can see a namespace and why, emergency access."""

from uuid import UUID

from django.http import HttpRequest
from django.utils.translation import gettext as _
from ninja import Query, Router, Status

from accounts.http.auth import api_auth
from accounts.models import TeamGroup, User
from accounts.selectors import find_group
from config.http.openapi import Limit, Offset
from memory import selectors, services
from memory.api.entries import caller_of
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
def who_can(request: HttpRequest, namespace_id: UUID) -> access.AccessOut:
    """Every member and key of the team that may do something here, and why."""
    caller = caller_of(request)
    row = selectors.find_namespace(caller.principal, caller.team_id, namespace_id)
    return access.access_out(explain_access(caller, namespace=row.text))


@router.get(GRANTS, response=list[access.GrantOut])
def list_grants(request: HttpRequest, namespace_id: UUID) -> list[access.GrantOut]:
    """What was shared of it; entries inherit."""
    caller = caller_of(request)
    row = selectors.find_namespace(caller.principal, caller.team_id, namespace_id)
    found = explain_access(caller, namespace=row.text)
    return [access.grant_out(one) for one in found.grants]


@router.post(GRANTS, response={204: None})
def share_namespace(request: HttpRequest, namespace_id: UUID, body: access.GrantIn) -> Status[None]:
    """Let a member or a group look, write, forget or share here. Only who may share it may."""
    caller = caller_of(request)
    row = selectors.find_namespace(caller.principal, caller.team_id, namespace_id)
    member = _recipient(caller, body)
    services.share(caller, namespace=row.text, verb=body.verb, member=member)
    return Status(204, None)


@router.delete(GRANTS, response={204: None})
def unshare_namespace(
    request: HttpRequest, namespace_id: UUID, body: access.GrantIn
) -> Status[None]:
    """Ends what was given; nothing happens if there was nothing."""
    caller = caller_of(request)
    row = selectors.find_namespace(caller.principal, caller.team_id, namespace_id)
    member = _recipient(caller, body)
    services.unshare(caller, namespace=row.text, verb=body.verb, member=member)
    return Status(204, None)


@router.get("/memory/emergency-access", response=list[access.EmergencyAccessOut])
def list_emergency_accesses(
    request: HttpRequest, namespace: str | None = None, limit: Limit = 100, offset: Offset = 0
) -> list[access.EmergencyAccessOut]:
    """Emergency access, the newest first: your own, that into what is yours, and for admins all of the team.

    A key asks with the namespace of a person it names.
    """
    caller = caller_of(request)
    found = emergency_access.list_emergency_accesses(
        caller, namespace=namespace, limit=limit, offset=offset
    )
    return _told(caller, found)


@router.get("/memory/subjects/{subject}/looks", response=list[access.EmergencyAccessOut])
def list_looks(
    request: HttpRequest, subject: str, limit: Limit = 100, offset: Offset = 0
) -> list[access.EmergencyAccessOut]:
    """Who looked into what is remembered about an outside person, and why: by a key that names them.

    They have no account here to be told by; this is how your product tells them.
    """
    caller = caller_of(request)
    return _told(
        caller,
        emergency_access.list_subject_accesses(caller, subject=subject, limit=limit, offset=offset),
    )


@router.post("/memory/emergency-access", response={201: access.EmergencyAccessOut})
def start_emergency_access(
    request: HttpRequest, body: access.EmergencyAccessIn
) -> Status[access.EmergencyAccessOut]:
    """Look into somebody's private memory for a while. They are told at once; every read is recorded."""
    caller = caller_of(request)
    if caller.principal.kind != "user":
        raise AccessDenied(_("API keys can't do this. Sign in instead."))
    made = emergency_access.start_emergency_access(caller, **body.dict())
    return Status(201, _told(caller, [made])[0])


@router.post("/memory/emergency-access/{uuid:access_id}/end", response=access.EmergencyAccessOut)
def end_emergency_access(request: HttpRequest, access_id: UUID) -> access.EmergencyAccessOut:
    """By who looks, whose memory it is, or another admin."""
    caller = caller_of(request)
    return _told(caller, [emergency_access.end_emergency_access(caller, access_id=access_id)])[0]


@router.post("/memory/emergency-access/{uuid:access_id}/seen", response=access.EmergencyAccessOut)
def acknowledge_emergency_access(
    request: HttpRequest, access_id: UUID
) -> access.EmergencyAccessOut:
    """The notice is put away; the access stays in the list."""
    caller = caller_of(request)
    return _told(caller, [emergency_access.acknowledge(caller, access_id=access_id)])[0]


@router.get("/memory/policy", response=access.PolicyOut)
def read_policy(request: HttpRequest, asked: Query[access.PolicyQuery]) -> access.PolicyOut:
    """What the team set, or set for one application, and what holds."""
    caller = caller_of(request)
    return _policy(caller, quotas.get_limits(caller, app_id=asked.app), asked.app)


@router.put("/memory/policy", response=access.PolicyOut)
def change_policy(
    request: HttpRequest,
    asked: Query[access.PolicyQuery],
    body: access.PolicyIn,
) -> access.PolicyOut:
    """All limits at once; one that is left out is the installation's own, or for an application the team's.

    An application's limits narrow the team's: where both say something, the smaller number holds.
    """
    caller = caller_of(request)
    return _policy(caller, quotas.change_limits(caller, body.limits(), app_id=asked.app), asked.app)


def _policy(caller: MemoryCaller, own: Limits, app_id: str) -> access.PolicyOut:
    return access.policy_out(own, quotas.get_effective_limits(caller, app_id=app_id))


def _recipient(caller: MemoryCaller, body: access.GrantIn) -> User | TeamGroup:
    if body.group is not None:
        return find_group(caller.principal, caller.team_id, body.group)
    assert body.member is not None  # noqa: S101  # the body's own rule
    return selectors.find_member(caller.principal, caller.team_id, body.member)


def _told(caller: MemoryCaller, found: list[EmergencyAccess]) -> list[access.EmergencyAccessOut]:
    read = emergency_access.summarize_reads(found)
    who = caller.principal
    return [
        access.emergency_access_out(one, read, theirs=emergency_access.is_notified(who, one))
        for one in found
    ]
