"""What accounts can refuse. A docstring is the sentence people read; ``retryable`` says if trying again helps."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


class AccountsFault(Exception):  # the family's name, as in memory and workflows
    """Something about accounts went wrong."""

    retryable = False
    sentence: str | Promise = _("Something about accounts went wrong.")

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

    sentence = _("You are not allowed to do that.")


class NotFound(AccountsFault):
    """There is no such thing, or it isn't yours. The two are never told apart."""

    sentence = _("There is no such thing here.")


class InvitationUnusable(AccountsFault):
    """This invitation has expired, was revoked or was used already."""

    sentence = _("This invitation has expired, was revoked or was used already.")


class StartTokenUnusable(AccountsFault):
    """This sign-in link has expired or was used already."""

    sentence = _("This sign-in link has expired or was used already.")


class LastOwner(AccountsFault):
    """A team keeps at least one owner."""

    sentence = _("A team keeps at least one owner. Make someone else owner first.")


class AlreadyMember(AccountsFault):
    """That person is in the team already."""

    sentence = _("That person is in the team already.")


class NameTaken(AccountsFault):
    """There is one of that name already."""

    sentence = _("There is one of that name already.")


class InvalidChoice(AccountsFault):
    """That value is not one of those offered."""

    sentence = _("That value is not one of those offered.")


class UnscopedQuery(AccountsFault):
    """A tenant's rows are reached with visible_to(principal); upkeep says unscoped()."""

    sentence = _("A tenant's rows are reached with visible_to(principal); upkeep says unscoped().")
