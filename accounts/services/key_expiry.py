"""Tell people that API keys are about to expire: on the home page, and once by mail."""

import datetime as dt
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import override

from accounts.access import Principal, can
from accounts.mail import Mail, build_public_url, is_mail_configured, send_mails
from accounts.models import ApiKey, Membership, Team, User
from accounts.models.secrets import NOTICE
from accounts.roles import ROLE_VERBS
from accounts.tenancy import tenant


MAX_KEYS: Final = 1_000  # mailed about at once, of one team


def list_expiring_keys(principal: Principal, team_id: UUID) -> list[ApiKey]:
    """Return the team's keys that expire soon without a replacement; none for somebody who may not manage keys."""
    if not can(principal, "key.manage", team_id):
        return []
    return list(_query_expiring(team_id, timezone.now()))


def mail_expiring_keys(now: dt.datetime | None = None) -> int:
    """Mail about each key that expires soon, once; return how many mails were accepted.

    The mail goes to whoever created the key, if they may still manage it, and otherwise to those who may.
    """
    if not is_mail_configured():
        return 0
    moment = now or timezone.now()
    return sum(_mail_team(team, moment) for team in Team.objects.order_by("id").iterator())


def _mail_team(team: Team, now: dt.datetime) -> int:
    with tenant([team.pk]):
        keys = list(_query_expiring(team.pk, now).filter(expiry_mailed_at=None)[:MAX_KEYS])
        managers = _list_managers(team) if keys else []
    sent = 0
    for key in keys:
        creators = [user for user in managers if user.pk == key.created_by_id]
        accepted = send_mails(
            [_build_mail(key, team, user) for user in creators or managers], about=f"key {key.pk}"
        )
        if accepted:
            with tenant([team.pk]):
                ApiKey.objects.unscoped().filter(pk=key.pk).update(expiry_mailed_at=now)
        sent += accepted
    return sent


def _query_expiring(team_id: UUID, now: dt.datetime) -> "QuerySet[ApiKey]":
    rows: Any = ApiKey.objects.unscoped()  # Any: the manager types its model, not its queryset
    rows = rows.filter(team_id=team_id, revoked_at=None, replaced_by=None)
    expiring: QuerySet[ApiKey] = rows.filter(expires_at__gt=now, expires_at__lte=now + NOTICE)
    return expiring.order_by("expires_at", "id")


def _list_managers(team: Team) -> list[User]:
    """Return the members who may manage keys."""
    rows = Membership.objects.unscoped().filter(team=team, user__is_active=True)
    managing = [role for role, verbs in ROLE_VERBS.items() if "key.manage" in verbs]
    members = rows.filter(role__in=managing).select_related("user").order_by("joined_at", "id")
    return [row.user for row in members]


def _build_mail(key: ApiKey, team: Team, user: User) -> Mail:
    with override(user.locale or settings.LANGUAGE_CODE):
        names = {"key": key.name, "team": team.name, "day": date_format(key.expires_at or "")}
        subject = _("The API key “%(key)s” expires on %(day)s") % names
        paragraphs = (
            _(
                "The API key “%(key)s” of the team “%(team)s” expires on %(day)s. From then on, programs that use it are refused."
            )
            % names,
            _(
                "Replace it here. Conversations, runs and memory stay, and the old key goes on working for a while:"
            ),
            build_public_url("accounts:rotate_key", key.pk),
        )
    return Mail(user.email, subject, "\n\n".join(paragraphs))
