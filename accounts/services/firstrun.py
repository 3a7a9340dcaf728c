"""The first start: an owner without a password, a team, and a link that signs in once."""

from __future__ import annotations

import datetime as dt

from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from accounts import audit, tokens
from accounts.errors import StartTokenUnusable
from accounts.models import StartToken, Team, User
from accounts.principals import load_user_principal
from accounts.services.teams import create_team


LIFETIME = dt.timedelta(hours=12)
DEMO_EMAIL = "you@mnemoflow.local"
# English until the owner's first sign-in, because the browser and its language are not known before.
DEMO_NAME = gettext_noop("Demo user")
DEMO_TEAM = gettext_noop("My team")


@transaction.atomic
def prepare_first_run() -> str:
    """Return the path of a new sign-in link for the person who started the server.

    Earlier links stop working. The link belongs to the first active administrator; without any, one is created, who
    has no password until they choose one.
    """
    admins = User.objects.filter(is_superuser=True, is_active=True).order_by("date_joined", "id")
    user = admins.first()
    if user is None:
        user = User.objects.create_superuser(DEMO_EMAIL, name=DEMO_NAME)
        create_team(owner=user, name=DEMO_TEAM)
    StartToken.objects.filter(user=user, used_at=None).delete()
    token = tokens.make_secret("start")
    token_hash, expires_at = tokens.hash_secret("start", token), timezone.now() + LIFETIME
    StartToken.objects.create(user=user, token_hash=token_hash, expires_at=expires_at)
    return reverse("accounts:start", args=[token])


@transaction.atomic
def redeem_start_token(token: str, *, network: str = "") -> User:
    """Return the user whom a start link signs in. It works once, even for simultaneous requests.

    The audit trail names the ``network`` of the browser, because the link is the key to the whole site.
    """
    rows = StartToken.objects.select_for_update(of=("self",)).select_related("user")
    row = rows.filter(token_hash=tokens.hash_secret("start", token), used_at=None).first()
    if row is None or not tokens.is_match("start", token, row.token_hash):
        raise StartTokenUnusable
    if row.expires_at <= timezone.now() or not row.user.is_active:
        raise StartTokenUnusable
    actor = f"user:{row.user_id}"
    if not StartToken.objects.filter(user=row.user).exclude(used_at=None).exists():
        _translate_names(row.user)
    row.used_at = timezone.now()
    row.save(update_fields=["used_at"])
    for team_id in load_user_principal(row.user).team_ids:
        audit.record(
            team_id=team_id,
            actor=actor,
            action="signin.start_token",
            subject=actor,
            detail={"network": network} if network else {},
        )
    return row.user


def _translate_names(user: User) -> None:
    """Put the names of the demo owner and their team into the language of the browser, unless somebody changed them."""
    if user.name == DEMO_NAME:
        user.name = gettext(DEMO_NAME)
        user.save(update_fields=["name"])
    teams = Team.objects.filter(pk__in=load_user_principal(user).team_ids, name=DEMO_TEAM)
    teams.update(name=gettext(DEMO_TEAM))
