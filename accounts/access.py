"""Who may touch what: the one place that decides, and the only one that knows django-guardian.

A question is answered in this order: is it the principal's team at all; does the role (or the key's scope) have the
verb; was this very object shared with them. Grants reach members of the object's team only: sharing widens what a
role may do, it never opens a team.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
from accounts.principals import (
    KeyPrincipal,
    Principal,
    RunPrincipal,
    UserPrincipal,
    current_team_id,
    principal_of,
    run_principal,
    user_principal,
)
from accounts.roles import KEYS_BEYOND, ROLE_VERBS, VERBS
from accounts.tenancy import tenant


__all__ = [
    "KeyPrincipal",
    "Principal",
    "RunPrincipal",
    "Shared",
    "UserPrincipal",
    "can",
    "check",
    "check_key",
    "count_shared",
    "current_team_id",
    "end_sharing",
    "end_sharing_with",
    "grant",
    "grants_on",
    "is_granted",
    "principal_of",
    "revoke",
    "revoke_all",
    "run_principal",
    "shared_with",
    "user_principal",
]


def can(principal: Principal, verb: str, obj_or_team: models.Model | UUID) -> bool:
    """Whether the principal may do ``verb`` with this object, or in this team."""
    team_id = _team_of(obj_or_team)
    role = principal.role_in(team_id)
    if role is None or team_id not in principal.team_ids:
        return False
    scope = VERBS[verb].scope
    if principal.kind != "user" and (scope is None or not principal.allows(scope)):
        return False
    if principal.kind == "key" and verb in KEYS_BEYOND:
        return True
    return verb in ROLE_VERBS[role] or _is_shared(principal, verb, obj_or_team)


def check(principal: Principal, verb: str, obj_or_team: models.Model | UUID) -> None:
    """``can``, or a sentence that says what is missing."""
    if can(principal, verb, obj_or_team):
        return
    if principal.kind == "key":
        check_key(principal, VERBS[verb].scope)
    raise NotAllowed(_("You may not %(verb)s here.") % {"verb": VERBS[verb].wording})


def check_key(principal: Principal, scope: str | None) -> None:
    """A sentence that names the scope a key would need; ``None``: no key ever has it."""
    if scope is None:
        raise NotAllowed(_("That is for people, not for API keys."))
    if not principal.allows(scope):
        raise NotAllowed(_("This key has no scope %(scope)s.") % {"scope": scope})


def grant(who: User | Group, verb: str, obj: models.Model) -> None:
    """Share one object with a member (or a group of the team's members) for one verb."""
    team_id = _team_of(obj)
    permission, content_type = _permission(verb, type(obj)), _type(type(obj))
    with tenant([team_id]):  # guardian reads the object again when it saves
        if not _is_of_team(who, team_id):
            raise NotAllowed(_("Only members of the team can be given something of it."))
        if isinstance(who, User):
            UserObjectPermission.objects.get_or_create(
                user=who, permission=permission, content_type=content_type, object_pk=str(obj.pk)
            )
        else:
            GroupObjectPermission.objects.get_or_create(
                group=who, permission=permission, content_type=content_type, object_pk=str(obj.pk)
            )


def revoke(who: User | Group, verb: str, obj: models.Model) -> None:
    """End ``grant``; nothing happens if there was none."""
    rows = {
        "permission__codename": _codename(verb),
        "content_type": _type(type(obj)),
        "object_pk": str(obj.pk),
    }
    if isinstance(who, User):
        UserObjectPermission.objects.filter(user=who, **rows).delete()
    else:
        GroupObjectPermission.objects.filter(group=who, **rows).delete()


def revoke_all(user: User, team_id: UUID) -> None:
    """Forget what was shared with somebody who leaves the team, so that coming back starts afresh."""
    rows = UserObjectPermission.objects.filter(user=user)
    with tenant([team_id]):
        theirs = TeamGroup.objects.unscoped().filter(team_id=team_id, group__user=user)
        user.groups.remove(*theirs.values_list("group_id", flat=True))
        for type_id in rows.order_by().values_list("content_type_id", flat=True).distinct():
            model = ContentType.objects.get_for_id(type_id).model_class()
            if model is None or not hasattr(model, "team_id"):
                continue
            shared = rows.filter(content_type_id=type_id)
            pks = [UUID(pk) for pk in shared.values_list("object_pk", flat=True)]
            ours = model._base_manager.filter(team_id=team_id, pk__in=pks).values_list(
                "pk", flat=True
            )
            shared.filter(object_pk__in=[str(pk) for pk in ours]).delete()


def count_shared(objects: Sequence[models.Model]) -> int:
    """How many grants there are on these objects, which are all of one kind."""
    return sum(rows.count() for rows in _grants_on(objects))


def end_sharing(objects: Sequence[models.Model]) -> int:
    """Take back whatever was granted on these objects; how much it was."""
    return sum(rows.delete()[0] for rows in _grants_on(objects))


def end_sharing_with(group: Group) -> int:
    """Take back whatever was granted to a group; how much it was."""
    return GroupObjectPermission.objects.filter(group=group).delete()[0]


def _grants_on(objects: Sequence[models.Model]) -> list[models.QuerySet[Any]]:
    if not objects:
        return []
    which = {
        "content_type": _type(type(objects[0])),
        "object_pk__in": [str(one.pk) for one in objects],
    }
    return [
        grants.objects.filter(**which) for grants in (UserObjectPermission, GroupObjectPermission)
    ]


def is_granted(
    principal: Principal, verb: str, obj: models.Model, *, in_person: bool = False
) -> bool:
    """Whether this very object was shared with this person for one verb; or, unless ``in_person``, with a group of theirs."""
    if principal.user_id is None:
        return False
    asked = (principal.user_id, _codename(verb), _type(type(obj)).pk)
    question, times = _GRANTED[in_person]
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT %s = ANY(ARRAY({question}))", [obj.pk, *asked * times])
        return bool(cursor.fetchone()[0])


def shared_with(
    principal: Principal, verb: str, model: type[models.Model], *, in_person: bool = False
) -> Q:
    """Of ``model``: what was shared so, for one verb; part of the question that asks for it.

    One permission a question, and only object permissions: a model-wide one would show the whole table.
    """
    if principal.user_id is None:
        return Q(pk__in=[])
    return Q(_IsGranted(in_person, principal.user_id, _codename(verb), _type(model).pk))


class _IsGranted(Func):
    """The ids are read once, before the plan runs, so that the index of the compared column serves."""

    template, arity = "%(expressions)s", 1
    output_field = models.BooleanField()

    def __init__(self, in_person: bool, *asked: object) -> None:
        super().__init__(F("pk"))
        self.in_person, self.asked = in_person, asked

    def as_sql(self, *how: Any, **context: Any) -> Any:  # Any: as Django's own
        pk, params = super().as_sql(*how, **context)
        question, times = _GRANTED[self.in_person]
        return f"{pk} = ANY(ARRAY({question}))", [*params, *self.asked * times]


_IN_PERSON: Final = """
    SELECT granted.object_pk::uuid FROM guardian_userobjectpermission granted
    JOIN auth_permission verb ON verb.id = granted.permission_id
    WHERE granted.user_id = %s AND verb.codename = %s AND granted.content_type_id = %s
"""
_BY_GROUP: Final = """
    SELECT granted.object_pk::uuid FROM accounts_user_groups member
    JOIN guardian_groupobjectpermission granted ON granted.group_id = member.group_id
    JOIN auth_permission verb ON verb.id = granted.permission_id
    WHERE member.user_id = %s AND verb.codename = %s AND granted.content_type_id = %s
"""
# Whether in person alone → the question, and how often it takes who, which verb and of what.
_GRANTED: Final = {True: (_IN_PERSON, 1), False: (f"{_IN_PERSON} UNION ALL {_BY_GROUP}", 2)}


@dataclass(frozen=True, slots=True)
class Shared:
    """One verb of one object, shared with one person or with a group."""

    verb: str
    user: User | None = None
    group: TeamGroup | None = None


def grants_on(obj: models.Model) -> list[Shared]:
    """Whatever was shared of this object, people before groups; for the page that says who can see it."""
    which = {"content_type": _type(type(obj)), "object_pk": str(obj.pk)}
    people = UserObjectPermission.objects.filter(**which).select_related("user")
    groups = GroupObjectPermission.objects.filter(**which)
    shared = list(groups.values_list("group_id", _CODENAME))
    with tenant([_team_of(obj)]):
        named = TeamGroup.objects.unscoped().filter(group__in=[group for group, _name in shared])
        by_group = {row.group_id: row for row in named}
    found = [
        Shared(_verb(row.codename), user=row.user) for row in people.annotate(codename=F(_CODENAME))
    ]
    found += [
        Shared(_verb(codename), group=by_group[group])
        for group, codename in shared
        if group in by_group
    ]
    return sorted(found, key=_by_name)


def _by_name(shared: Shared) -> tuple[bool, str, str, str]:
    who = shared.user or shared.group
    return shared.user is None, str(who).casefold(), str(who.pk if who else ""), shared.verb


_CODENAME: Final = "permission__codename"


def _verb(codename: str) -> str:
    return codename.replace("_", ".", 1)


def _is_of_team(who: User | Group, team_id: UUID) -> bool:
    if isinstance(who, User):
        return Membership.objects.unscoped().filter(team_id=team_id, user_id=who.pk).exists()
    return TeamGroup.objects.unscoped().filter(team_id=team_id, group_id=who.pk).exists()


def _is_shared(principal: Principal, verb: str, obj_or_team: models.Model | UUID) -> bool:
    if principal.user_id is None or isinstance(obj_or_team, UUID | Team):
        return False
    return is_granted(principal, verb, obj_or_team)


def _team_of(obj_or_team: models.Model | UUID) -> UUID:
    if isinstance(obj_or_team, UUID):
        return obj_or_team
    if isinstance(obj_or_team, Team):
        return obj_or_team.pk
    return cast(UUID, obj_or_team.team_id)  # type: ignore[attr-defined]  # every tenant row has one


def _codename(verb: str) -> str:
    return VERBS[verb].name.replace(".", "_")


def _type(model: type[models.Model]) -> ContentType:
    return ContentType.objects.get_for_model(model)


def _permission(verb: str, model: type[models.Model]) -> Permission:
    row, _made = Permission.objects.get_or_create(
        codename=_codename(verb),
        content_type=_type(model),
        defaults={"name": f"Can {VERBS[verb].name}"},
    )
    return row
