"""The errors of accounts. The ``sentence`` of a class is the message for the user."""

import math

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext


class AccountsFault(Exception):
    """The base of all errors of accounts."""

    sentence: str | Promise = _("Something went wrong with the account.")

    def __init__(self, sentence: str | Promise | None = None, *, field: str | None = None) -> None:
        super().__init__(sentence or self.sentence)
        self.field = field  # the request's field that is wrong, if the error is about one


class NotSignedIn(AccountsFault):
    sentence = _("Sign in first.")


class NotAllowed(AccountsFault):
    sentence = _("You don't have permission to do that.")


class NotFound(AccountsFault):
    """The object does not exist or is not visible to the caller, who can't distinguish the two cases."""

    sentence = _("Not found.")


class InvitationUnusable(AccountsFault):
    sentence = _("This invitation has expired, was revoked, or was already used.")


class StartTokenUnusable(AccountsFault):
    sentence = _("This sign-in link has expired or was already used.")


class SignInDelayed(AccountsFault):
    """An attempt to sign in comes too early after failed ones. ``seconds`` is the time to wait."""

    def __init__(self, seconds: float) -> None:
        self.seconds = self.retry_after = max(math.ceil(seconds), 1)
        super().__init__(describe_delay(self.seconds))


def describe_delay(seconds: int) -> str:
    if seconds < 120:
        text = ngettext(
            "Too many failed attempts. Try again in %(count)d second.",
            "Too many failed attempts. Try again in %(count)d seconds.",
            seconds,
        )
        return text % {"count": seconds}
    minutes = math.ceil(seconds / 60)
    text = ngettext(
        "Too many failed attempts. Try again in %(count)d minute.",
        "Too many failed attempts. Try again in %(count)d minutes.",
        minutes,
    )
    return text % {"count": minutes}


class LastOwner(AccountsFault):
    sentence = _("A team needs at least one owner. Make another member an owner first.")


class AlreadyMember(AccountsFault):
    sentence = _("This person is already a member of the team.")


class NameTaken(AccountsFault):
    sentence = _("This name is already taken.")


class InvalidChoice(AccountsFault):
    sentence = _("This value is not one of the available options.")


class UnscopedQuery(AccountsFault):
    sentence = _(
        "Read tenant rows with visible_to(principal), or with unscoped() in maintenance tasks."
    )


class ConnectionInUse(AccountsFault):
    """Something outside is to be called inside a transaction, which would hold its connection all the while."""

    sentence = _("Call what is outside before or after a transaction, not inside it.")
