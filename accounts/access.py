"""Decides whether a principal may access an object. Only this module makes such decisions and imports django-guardian.

``can`` checks in this order: the team must be one of the principal's; the role (or the key's scope) must have the
verb; if it doesn't, this very object must have been shared with them. An object can be shared only with members of its
team, so that sharing never opens a team to others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final, cast
from uuid import UUID

from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connection, models
from django.db.models import F, Func, Q
from django.utils.translation import gettext as _
from guardian.models import GroupObjectPermission, UserObjectPermission

from accounts.errors import NotAllowed
from accounts.models import Membership, Team, TeamGroup, User
from accounts.principals import Principal as Principal
from accounts.roles import KEY_EXTRA_VERBS, ROLE_VERBS, TEAM_LISTS, VERBS, WORKFLOW_VERBS
from accounts.tenancy import OUTSIDE_WORKFLOWS, tenant
from config.sql import read_queries


QUERIES: Final = read_queries("accounts/sql/queries/grants.sql")
# The query by ``in_person``, and how often it takes the parameters user, codename and content type.
_GRANT_QUERIES: Final = {
    True: (QUERIES["in_person"], 1),
    False: (f"{QUERIES['in_person']} UNION ALL {QUERIES['by_group']}", 2),
}
_CODENAME: Final = "permission__codename"


def can(principal: Principal, verb: str, obj_or_team: models.Model | UUID) -> bool:
    """Return whether the principal may do ``verb`` with this object, or in this team."""
    team_id = _get_team_id(obj_or_team)
    role = principal.get_role(team_id)
    if role is None or team_id not in principal.team_ids:
        return False
    scope = VERBS[verb].scope
    if principal.kind != "user" and (scope is None or not principal.allows(scope)):
        return False
    if principal.workflow_id is not None and not _is_of_workflow(principal, verb, obj_or_team):
        return False
    if principal.kind == "key" and verb in KEY_EXTRA_VERBS:
        return True
    return verb in ROLE_VERBS[role] or _is_shared(principal, verb, obj_or_team)


def check(principal: Principal, verb: str, obj_or_team: models.Model | UUID) -> None:
    """Raise ``NotAllowed`` with a message that names the missing permission, unless ``can`` returns True."""
    if can(principal, verb, obj_or_team):
        return
    if principal.kind == "key":
        check_key(principal, VERBS[verb].scope)
        if principal.workflow_id is not None:
            raise NotAllowed(_("This API key is for a single workflow and can't do this."))
    raise NotAllowed(_("You don't have permission to %(verb)s.") % {"verb": VERBS[verb].wording})


def check_key(principal: Principal, scope: str | None) -> None:
    """Raise ``NotAllowed`` naming the scope that the key lacks. With ``None`` no key is ever allowed."""
    if scope is None:
        raise NotAllowed(_("API keys can't do this. Sign in instead."))
    if not principal.allows(scope):
        message = _("This API key doesn't have the permission %(scope)s.")
        raise NotAllowed(message % {"scope": scope})


def grant(grantee: User | Group, verb: str, obj: models.Model) -> None:
    """Share one object with a member (or a group of the team's members) for one verb."""
    team_id = _get_team_id(obj)
    fields = {"permission": _get_permission(verb, type(obj)), **_get_object_fields(obj)}
    with tenant([team_id]):  # guardian reads the object again when it saves
        if not _is_in_team(grantee, team_id):
            raise NotAllowed(_("You can share only with members of the team."))
        if isinstance(grantee, User):
            UserObjectPermission.objects.get_or_create(user=grantee, **fields)
        else:
            GroupObjectPermission.objects.get_or_create(group=grantee, **fields)


def revoke(grantee: User | Group, verb: str, obj: models.Model) -> None:
    """Revoke the permission that ``grant`` gave; do nothing if there was no grant."""
    conditions = {_CODENAME: _get_codename(verb), **_get_object_fields(obj)}
    if isinstance(grantee, User):
        UserObjectPermission.objects.filter(user=grantee, **conditions).delete()
    else:
        GroupObjectPermission.objects.filter(group=grantee, **conditions).delete()


def revoke_all(user: User, team_id: UUID) -> None:
    """Remove all grants and groups of a user who leaves the team, so that they have no rights if they return."""
    grants = UserObjectPermission.objects.filter(user=user)
    with tenant([team_id]):
        groups = TeamGroup.objects.unscoped().filter(team_id=team_id, group__user=user)
        user.groups.remove(*groups.values_list("group_id", flat=True))
        for type_id in grants.order_by().values_list("content_type_id", flat=True).distinct():
            model = ContentType.objects.get_for_id(type_id).model_class()
            if model is None or not hasattr(model, "team_id"):
                continue
            grants_of_type = grants.filter(content_type_id=type_id)
            pks = [UUID(pk) for pk in grants_of_type.values_list("object_pk", flat=True)]
            in_team = model._base_manager.filter(team_id=team_id, pk__in=pks)
            pks_in_team = [str(pk) for pk in in_team.values_list("pk", flat=True)]
            grants_of_type.filter(object_pk__in=pks_in_team).delete()


def count_shared(objects: Sequence[models.Model]) -> int:
    """Return the number of grants on these objects, which are all of one model."""
    return sum(grants.count() for grants in _query_grants(objects))


def end_sharing(objects: Sequence[models.Model]) -> int:
    """Remove all grants on these objects, which are all of one model, and return how many there were."""
    return sum(grants.delete()[0] for grants in _query_grants(objects))


def end_sharing_with(group: Group) -> int:
    """Remove all grants of a group and return how many there were."""
    return GroupObjectPermission.objects.filter(group=group).delete()[0]


def is_granted(
    principal: Principal, verb: str, obj: models.Model, *, in_person: bool = False
) -> bool:
    """Return whether this object was shared with the principal's user for one verb.

    Unless ``in_person`` is set, a grant to one of the user's groups counts too.
    """
    if principal.user_id is None:
        return False
    params = (principal.user_id, _get_codename(verb), _get_content_type(type(obj)).pk)
    query, times = _GRANT_QUERIES[in_person]
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT %s = ANY(ARRAY({query}))", [obj.pk, *params * times])
        return bool(cursor.fetchone()[0])


def filter_shared(
    principal: Principal, verb: str, model: type[models.Model], *, in_person: bool = False
) -> Q:
    """Return a condition on ``model`` for the rows that were shared with the principal for one verb.

    It checks a single object permission, because a model-wide permission would show the whole table.
    """
    if principal.user_id is None:
        return Q(pk__in=[])
    return Q(
        _IsGranted(in_person, principal.user_id, _get_codename(verb), _get_content_type(model).pk)
    )


class _IsGranted(Func):
    """A condition that is true for granted rows. Its ids are read once per query, so that the key's index is used."""

    template, arity = "%(expressions)s", 1
    output_field = models.BooleanField()

    def __init__(self, in_person: bool, *params: object) -> None:
        super().__init__(F("pk"))
        self.in_person, self.params = in_person, params

    def as_sql(self, *args: Any, **context: Any) -> Any:  # Any: as in Django's signature
        pk, params = super().as_sql(*args, **context)
        query, times = _GRANT_QUERIES[self.in_person]
        return f"{pk} = ANY(ARRAY({query}))", [*params, *self.params * times]


@dataclass(frozen=True, slots=True)
class Grant:
    """A grant: one verb of one object, shared with one person or with one group."""

    verb: str
    user: User | None = None
    group: TeamGroup | None = None


def list_grants(obj: models.Model) -> list[Grant]:
    """Return all grants on this object, users before groups."""
    user_rows = UserObjectPermission.objects.filter(**_get_object_fields(obj))
    named_rows = user_rows.select_related("user").annotate(codename=F(_CODENAME))
    grants = [Grant(_parse_verb(row.codename), user=row.user) for row in named_rows]
    group_rows = GroupObjectPermission.objects.filter(**_get_object_fields(obj))
    codenames = list(group_rows.values_list("group_id", _CODENAME))
    with tenant([_get_team_id(obj)]):
        groups = TeamGroup.objects.unscoped().filter(group__in=[pk for pk, _name in codenames])
        groups_by_id = {group.group_id: group for group in groups}
    for group_id, codename in codenames:
        if group_id in groups_by_id:
            grants.append(Grant(_parse_verb(codename), group=groups_by_id[group_id]))
    return sorted(grants, key=_get_sort_key)


def _query_grants(objects: Sequence[models.Model]) -> list[models.QuerySet[Any]]:
    if not objects:
        return []
    content_type, pks = _get_content_type(type(objects[0])), [str(row.pk) for row in objects]
    return [
        model.objects.filter(content_type=content_type, object_pk__in=pks)
        for model in (UserObjectPermission, GroupObjectPermission)
    ]


def _get_sort_key(grant: Grant) -> tuple[bool, str, str, str]:
    grantee = grant.user or grant.group
    return (grant.user is None, str(grantee).casefold(), str(grantee and grantee.pk), grant.verb)


def _get_object_fields(obj: models.Model) -> dict[str, Any]:
    """Return the fields by which a grant refers to its object."""
    return {"content_type": _get_content_type(type(obj)), "object_pk": str(obj.pk)}


def _parse_verb(codename: str) -> str:
    return codename.replace("_", ".", 1)


def _is_in_team(grantee: User | Group, team_id: UUID) -> bool:
    if isinstance(grantee, User):
        return Membership.objects.unscoped().filter(team_id=team_id, user_id=grantee.pk).exists()
    return TeamGroup.objects.unscoped().filter(team_id=team_id, group_id=grantee.pk).exists()


def _is_shared(principal: Principal, verb: str, obj_or_team: models.Model | UUID) -> bool:
    if principal.user_id is None or isinstance(obj_or_team, UUID | Team):
        return False
    return is_granted(principal, verb, obj_or_team)


def _is_of_workflow(principal: Principal, verb: str, obj_or_team: models.Model | UUID) -> bool:
    """Return whether an API key of one workflow may do ``verb`` here: with its workflow's rows, or with other things.

    In a whole team it may list workflows and runs, of which ``visible_to`` shows those of its workflow.
    """
    if isinstance(obj_or_team, UUID | Team):
        return verb not in WORKFLOW_VERBS or verb in TEAM_LISTS
    lookup: str | None = getattr(obj_or_team, "workflow_lookup", OUTSIDE_WORKFLOWS)
    if lookup is None or lookup == OUTSIDE_WORKFLOWS:
        return lookup == OUTSIDE_WORKFLOWS
    workflow_id: UUID | None = attrgetter(lookup.replace("__", "."))(obj_or_team)
    return workflow_id == principal.workflow_id


def _get_team_id(obj_or_team: models.Model | UUID) -> UUID:
    if isinstance(obj_or_team, UUID):
        return obj_or_team
    if isinstance(obj_or_team, Team):
        return obj_or_team.pk
    return cast(UUID, obj_or_team.team_id)  # type: ignore[attr-defined]  # every tenant row has one


def _get_codename(verb: str) -> str:
    return VERBS[verb].name.replace(".", "_")


def _get_content_type(model: type[models.Model]) -> ContentType:
    return ContentType.objects.get_for_model(model)


def _get_permission(verb: str, model: type[models.Model]) -> Permission:
    return Permission.objects.get_or_create(
        codename=_get_codename(verb),
        content_type=_get_content_type(model),
        defaults={"name": f"Can {VERBS[verb].name}"},
    )[0]
