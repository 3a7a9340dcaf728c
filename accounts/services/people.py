"""Operations on a person's own account."""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.models.users import normalise_email
from accounts.services.invitations import accept_invitation
from accounts.services.teams import create_team


MAX_NAME_LENGTH = 120  # as in the column


@transaction.atomic
def assign_first_team(*, user: User, invitation_token: str | None) -> None:
    """Make a new user a member of the team that the invitation is for, or without one the owner of a new team."""
    if invitation_token is not None:
        accept_invitation(user=user, token=invitation_token)
        return
    create_team(owner=user, name=_("Team of %(name)s") % {"name": user.get_short_name()})


def change_profile(user: User, *, name: str, locale: str, email: str | None = None) -> User:
    """Change the user's name and language, and the email address unless ``email`` is None."""
    user.name, user.locale = name.strip()[:MAX_NAME_LENGTH], locale
    if email is not None:
        user.email = normalise_email(email)
    user.full_clean(exclude=["password"])
    user.save(update_fields=["name", "locale", "email"])
    return user


def change_language(user: User, *, locale: str) -> None:
    """Change the language of the pages; an empty string means the browser's language."""
    user.locale = locale
    user.save(update_fields=["locale"])


def change_password(user: User, password: str) -> None:
    """Change the password. This ends the user's other sessions, because their session hash no longer matches."""
    user.set_password(password)
    user.save(update_fields=["password"])
