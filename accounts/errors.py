"""The errors of accounts. Each docstring is the sentence that people read; ``retryable`` says whether a retry helps."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


class AccountsFault(Exception):  # the family's name, as in memory and workflows
    """Something about accounts went wrong."""

    retryable = False
    sentence: str | Promise = _("Something went wrong with the account.")

    def __init__(self, sentence: str | Promise | None = None, *, field: str | None = None) -> None:
        self.field = field  # of the request, where it is about one
        self.message: str | Promise = sentence or type(self).sentence
        super().__init__(self.message)

    def __str__(self) -> str:
        return str(self.message)


class NotSignedIn(AccountsFault):
    """Sign in first."""

    sentence = _("Sign in first.")


class NotAllowed(AccountsFault):
    """You are not allowed to do that."""

    sentence = _("You don't have permission to do that.")


class NotFound(AccountsFault):
    """The object does not exist or is not visible to the caller; the two look the same."""

    sentence = _("Not found.")


class InvitationUnusable(AccountsFault):
    """This invitation has expired, was revoked or was used already."""

    sentence = _("This invitation has expired, was revoked, or was already used.")


class StartTokenUnusable(AccountsFault):
    """This sign-in link has expired or was used already."""

    sentence = _("This sign-in link has expired or was already used.")


class LastOwner(AccountsFault):
    """A team keeps at least one owner."""

    sentence = _("A team needs at least one owner. Make another member an owner first.")


class AlreadyMember(AccountsFault):
    """That person is in the team already."""

    sentence = _("This person is already a member of the team.")


class NameTaken(AccountsFault):
    """There is one of that name already."""

    sentence = _("This name is already taken.")


class InvalidChoice(AccountsFault):
    """That value is not one of those offered."""

    sentence = _("This value is not one of the available options.")


class UnscopedQuery(AccountsFault):
    """A tenant's rows are reached with visible_to(principal); upkeep says unscoped()."""

    sentence = _(
        "Read tenant rows with visible_to(principal), or with unscoped() in maintenance tasks."
    )
