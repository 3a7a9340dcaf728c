"""Names of the workflows, API keys, channels and people in reports of usage.

Members are named. An external user is shown by a code, unless the user's runs are the reader's own, because runs and the
people they are for stay private inside a team.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from django.db.models import QuerySet
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.models import ApiKey, ServiceAccount, User
from accounts.personas import find_service_account_id
from accounts.tenancy import reading
from workflows.execution.usage.single_calls import MEMORY_CHANNEL
from workflows.models import ModelUsage, RunUsage, Workflow
from workflows.models.run import Channel
from workflows.services.usage.report import Dimension, Key, Selection, match_own_usage


CODE_PREFIX: Final = "~"
# A person may have calls of models without a run, as for a search of memory.
USAGE_MODELS: Final = (RunUsage, ModelUsage)


def label_rows(
    principal: Principal, team_id: UUID, dimension: Dimension, keys: Iterable[Key]
) -> dict[Key, str]:
    """Return the name of each row of a breakdown."""
    values = list(keys)
    with reading([team_id]):
        if dimension == "workflow":
            names: Mapping[Any, str] = _name_workflows([key[0] for key in values])
        elif dimension == "key":
            names = name_keys([key[0] for key in values])
        elif dimension == "person":
            names = _name_people(principal, team_id, [key[0] for key in values])
        elif dimension == "channel":
            names = {key[0]: name_channel(key[0]) for key in values}
        else:
            return {key: name_model(*key) for key in values}
    return {key: names[key[0]] for key in values}


def name_model(provider: str, model: str) -> str:
    if provider == "offline":
        return _("Offline demo")
    return f"{provider} / {model}" if model else provider


def name_channel(channel: str) -> str:
    """Return the label of a channel. One that this version doesn't have is named by its value."""
    labels = {**dict(Channel.choices), MEMORY_CHANNEL: _("Memory in the background")}
    return str(labels.get(channel, channel)) if channel else _("Not recorded")


def name_keys(ids: Iterable[UUID | None]) -> dict[UUID | None, str]:
    names = dict(ApiKey.objects.unscoped().values_list("pk", "name"))
    without = _("Without an API key")
    return {id_: names.get(id_, _("Deleted API key")) if id_ else without for id_ in ids}


def _name_workflows(ids: Iterable[UUID | None]) -> dict[UUID | None, str]:
    names = dict(Workflow.objects.unscoped().values_list("pk", "name"))
    outside = _("Outside of workflows")
    return {id_: names.get(id_, _("Deleted workflow")) if id_ else outside for id_ in ids}


def _name_people(principal: Principal, team_id: UUID, subjects: Sequence[str]) -> dict[str, str]:
    members = {subject: UUID(subject) for subject in subjects if _is_uuid(subject)}
    users = {
        user.pk: user.name or user.email for user in User.objects.filter(pk__in=members.values())
    }
    service_accounts = dict(ServiceAccount.objects.unscoped().values_list("pk", "name"))
    visible = list_visible_people(principal, team_id)
    names = {}
    for subject in subjects:
        account_id = find_service_account_id(subject)
        if subject in members and members[subject] in users:
            names[subject] = users[members[subject]]
        elif account_id is not None:
            names[subject] = service_accounts.get(account_id, _("Deleted service account"))
        elif not subject:
            names[subject] = _("Nobody, or erased")
        elif subject in visible:
            names[subject] = subject
        else:
            code = make_code(team_id, subject).removeprefix(CODE_PREFIX)
            names[subject] = _("External user %(code)s") % {"code": code}
    return names


def list_visible_people(principal: Principal, team_id: UUID) -> set[str]:
    """Return the subjects whose runs are the principal's own, so that their ids may be shown."""
    condition = match_own_usage(principal)
    return {
        subject
        for model in USAGE_MODELS
        for subject in _list_subjects(model.objects.unscoped().filter(condition, team_id=team_id))
    }


def list_visible_people_of(principal: Principal, team_id: UUID, dimension: Dimension) -> set[str]:
    """Return ``list_visible_people`` for a breakdown by person; other breakdowns show no people."""
    if dimension != "person":
        return set()
    with reading([team_id]):
        return list_visible_people(principal, team_id)


def make_code(team_id: UUID, subject: str) -> str:
    """Return a code for a person, from which the id can't be computed."""
    digest = salted_hmac("workflows.usage.person", f"{team_id} {subject}").hexdigest()
    return f"{CODE_PREFIX}{digest[:10]}"


def hide_person(subject: str, visible: set[str], team_id: UUID) -> str:
    """Return the id by which a page or the API refers to a person: of a hidden external user, the code."""
    is_open = (
        not subject or _is_uuid(subject) or find_service_account_id(subject) or subject in visible
    )
    return subject if is_open else make_code(team_id, subject)


def find_subject(selection: Selection, person: str) -> str:
    """Return the subject that a code stands for; any other text is returned unchanged."""
    if not person.startswith(CODE_PREFIX):
        return person
    with reading([selection.team_id]):
        for model in USAGE_MODELS:
            for subject in _list_subjects(
                model.objects.unscoped().filter(team_id=selection.team_id)
            ):
                if make_code(selection.team_id, subject) == person:
                    return subject
    return person


def _list_subjects(rows: QuerySet[Any]) -> list[str]:  # Any: either model
    return list(rows.order_by().values_list("subject", flat=True).distinct())


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
