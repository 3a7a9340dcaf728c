"""The names of those who answered questions, and of those whom questions ask."""

from collections.abc import Iterable

from django.utils.translation import gettext as _

from accounts.models import ApiKey, Role, TeamGroup, User
from workflows.engine.answerers import (
    EMAIL,
    GROUP,
    LINK,
    MEMBER,
    ROLE,
    RUNNER,
    list_ids,
    list_values,
)
from workflows.engine.runtime.waits import BY_LINK
from workflows.models import RunWait


_KEY = "key:"


def name_answerers(waits: Iterable[RunWait]) -> dict[str, str]:
    """Return the name of whoever answered, by what ``answered_by`` has stored. The tenant is open."""
    actors = {wait.answered_by for wait in waits if wait.answered_by}
    names = {actor: actor.removeprefix(EMAIL) for actor in actors}
    users = User.objects.filter(pk__in=list_ids(actors, MEMBER))
    keys = ApiKey.objects.unscoped().filter(pk__in=list_ids(actors, _KEY))
    names |= {f"{MEMBER}{user.pk}": user.name or user.email for user in users}
    names |= {f"{_KEY}{key.pk}": key.name for key in keys}
    if BY_LINK in names:
        names[BY_LINK] = _("somebody with the link")
    return names


def describe_asked(wait: RunWait) -> list[str]:
    """Return the names of those whom the question asks; nothing if it only asks the run's own people. The tenant is open."""
    users = User.objects.filter(pk__in=list_ids(wait.answerers, MEMBER))
    groups = TeamGroup.objects.unscoped().filter(pk__in=list_ids(wait.answerers, GROUP))
    names = {f"{MEMBER}{user.pk}": user.name or user.email for user in users}
    names |= {f"{GROUP}{group.pk}": group.name for group in groups}
    names |= {f"{ROLE}{role.value}": describe_role(role) for role in Role}
    names |= {RUNNER: _("whoever runs it"), LINK: _("anybody with the link")}
    names |= {f"{EMAIL}{address}": address for address in list_values(wait.answerers, EMAIL)}
    return [names[key] for key in wait.answerers if key in names]


def describe_role(role: Role) -> str:
    """Return what the choice of a role means: those with more rights may answer, too."""
    if role == Role.OWNER:
        return str(role.label)
    return _("%(role)s or higher") % {"role": role.label}
