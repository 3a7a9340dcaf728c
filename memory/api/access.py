"""``/api/v1/memory`` of rights: grants, who can see a namespace and why, emergency access."""

from uuid import UUID

from django.http import HttpRequest
from django.utils.translation import gettext as _
from ninja import Query, Router, Status

from accounts.auth import api_auth
from accounts.models import TeamGroup, User
from accounts.selectors import group_for
from config.schema import Limit, Offset
from memory import schemas_access, selectors, services
from memory.api import caller_of
from memory.core.errors import AccessDenied
from memory.models import Glass
from memory.services import MemoryCaller, glass, policy
from memory.services.explain import explain
from memory.services.policy import Limits


router = Router(auth=api_auth(), tags=["memory"])

GRANTS = "/memory/namespaces/{uuid:namespace_id}/grants"


@router.get("/memory/namespaces/{uuid:namespace_id}/access", response=schemas_access.AccessOut)
def who_can(request: HttpRequest, namespace_id: UUID) -> schemas_access.AccessOut:
    """Every member and key of the team that may do something here, and why."""
    caller = caller_of(request)
    row = selectors.namespace_for(caller.principal, caller.team_id, namespace_id)
    return schemas_access.access_out(explain(caller, namespace=row.text))


@router.get(GRANTS, response=list[schemas_access.GrantOut])
def list_grants(request: HttpRequest, namespace_id: UUID) -> list[schemas_access.GrantOut]:
    """What was shared of it; entries inherit."""
    caller = caller_of(request)
    row = selectors.namespace_for(caller.principal, caller.team_id, namespace_id)
    found = explain(caller, namespace=row.text)
    return [schemas_access.grant_out(one) for one in found.grants]


@router.post(GRANTS, response={204: None})
def share_namespace(
    request: HttpRequest, namespace_id: UUID, body: schemas_access.GrantIn
) -> Status[None]:
    """Let a member or a group look, write, forget or share here. Only who may share it may."""
    caller = caller_of(request)
    row = selectors.namespace_for(caller.principal, caller.team_id, namespace_id)
    member = _recipient(caller, body)
    services.share(caller, namespace=row.text, verb=body.verb, member=member)
    return Status(204, None)


@router.delete(GRANTS, response={204: None})
def unshare_namespace(
    request: HttpRequest, namespace_id: UUID, body: schemas_access.GrantIn
) -> Status[None]:
    """Ends what was given; nothing happens if there was nothing."""
    caller = caller_of(request)
    row = selectors.namespace_for(caller.principal, caller.team_id, namespace_id)
    member = _recipient(caller, body)
    services.unshare(caller, namespace=row.text, verb=body.verb, member=member)
    return Status(204, None)


@router.get("/memory/glass", response=list[schemas_access.GlassOut])
def list_glasses(
    request: HttpRequest, namespace: str | None = None, limit: Limit = 100, offset: Offset = 0
) -> list[schemas_access.GlassOut]:
    """Emergency access, the newest first: your own, that into what is yours, and for admins all of the team.

    A key asks with the namespace of a person it names.
    """
    caller = caller_of(request)
    found = glass.glasses(caller, namespace=namespace, limit=limit, offset=offset)
    return _told(caller, found)


@router.get("/memory/subjects/{subject}/looks", response=list[schemas_access.GlassOut])
def list_looks(
    request: HttpRequest, subject: str, limit: Limit = 100, offset: Offset = 0
) -> list[schemas_access.GlassOut]:
    """Who looked into what is remembered about an outside person, and why: by a key that names them.

    They have no account here to be told by; this is how your product tells them.
    """
    caller = caller_of(request)
    return _told(caller, glass.looks_into(caller, subject=subject, limit=limit, offset=offset))


@router.post("/memory/glass", response={201: schemas_access.GlassOut})
def break_glass(
    request: HttpRequest, body: schemas_access.GlassIn
) -> Status[schemas_access.GlassOut]:
    """Look into somebody's private memory for a while. They are told at once; every read is recorded."""
    caller = caller_of(request)
    if caller.principal.kind != "user":
        raise AccessDenied(_("That is for people, not for API keys."))
    made = glass.break_glass(caller, **body.dict())
    return Status(201, _told(caller, [made])[0])


@router.post("/memory/glass/{uuid:glass_id}/end", response=schemas_access.GlassOut)
def end_glass(request: HttpRequest, glass_id: UUID) -> schemas_access.GlassOut:
    """By who looks, whose memory it is, or another admin."""
    caller = caller_of(request)
    return _told(caller, [glass.end_glass(caller, glass_id=glass_id)])[0]


@router.post("/memory/glass/{uuid:glass_id}/seen", response=schemas_access.GlassOut)
def acknowledge_glass(request: HttpRequest, glass_id: UUID) -> schemas_access.GlassOut:
    """The notice is put away; the access stays in the list."""
    caller = caller_of(request)
    return _told(caller, [glass.acknowledge(caller, glass_id=glass_id)])[0]


@router.get("/memory/policy", response=schemas_access.PolicyOut)
def read_policy(
    request: HttpRequest, asked: Query[schemas_access.PolicyQuery]
) -> schemas_access.PolicyOut:
    """What the team set, or set for one application, and what holds."""
    caller = caller_of(request)
    return _policy(caller, policy.limits_of(caller, app_id=asked.app), asked.app)


@router.put("/memory/policy", response=schemas_access.PolicyOut)
def change_policy(
    request: HttpRequest,
    asked: Query[schemas_access.PolicyQuery],
    body: schemas_access.PolicyIn,
) -> schemas_access.PolicyOut:
    """All limits at once; one that is left out is the installation's own, or for an application the team's.

    An application's limits narrow the team's: where both say something, the smaller number holds.
    """
    caller = caller_of(request)
    return _policy(caller, policy.change_limits(caller, body.limits(), app_id=asked.app), asked.app)


def _policy(caller: MemoryCaller, own: Limits, app_id: str) -> schemas_access.PolicyOut:
    return schemas_access.policy_out(own, policy.in_force_for(caller, app_id=app_id))


def _recipient(caller: MemoryCaller, body: schemas_access.GrantIn) -> User | TeamGroup:
    if body.group is not None:
        return group_for(caller.principal, caller.team_id, body.group)
    assert body.member is not None  # noqa: S101  # the body's own rule
    return selectors.member_for(caller.principal, caller.team_id, body.member)


def _told(caller: MemoryCaller, found: list[Glass]) -> list[schemas_access.GlassOut]:
    read = glass.what_was_read(found)
    who = caller.principal
    return [schemas_access.glass_out(one, read, theirs=glass.is_told(who, one)) for one in found]
