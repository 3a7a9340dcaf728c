"""Rows about a person: runs, conversations and tasks, which contain the person's messages and memories.

Such a row is visible to the account that started it, to the account that it is for, and to the creator of the API key
that started it, but to no other member of the team, not even to its owner.
"""

from typing import Any, ClassVar, Self, TypeVar

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantManager, TenantModel, TenantQuerySet
from workflows.models.fields import link_to_user


M = TypeVar("M", bound=models.Model)


class PersonalQuerySet(TenantQuerySet[M]):
    """A queryset of models with ``started_by``, ``subject_user`` and ``api_key``."""

    def visible_to(self, principal: Any) -> Self:  # Any: models don't import accounts.access
        return super().visible_to(principal).filter(match_own(principal))


class PersonalManager(TenantManager[M]):
    _queryset_class = PersonalQuerySet


class Personal(TenantModel):
    """A row with the person it is for and the person who started it."""

    subject = models.CharField(_("subject"), max_length=255)
    subject_user = link_to_user(_("account of the user"))
    started_by = link_to_user(_("started by"))
    api_key = models.ForeignKey(
        "accounts.ApiKey",
        verbose_name=_("API key"),
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
    )

    objects: ClassVar[PersonalManager[Self]] = PersonalManager()

    class Meta:
        abstract = True


def match_own(principal: Any) -> models.Q:
    """Return the condition for rows that are this principal's own."""
    if principal.kind == "key":
        return models.Q(api_key_id=principal.key.pk)
    if principal.user_id is None:
        return models.Q(pk__in=[])
    return (
        models.Q(started_by_id=principal.user_id)
        | models.Q(subject_user_id=principal.user_id)
        | models.Q(api_key__created_by_id=principal.user_id)
    )
