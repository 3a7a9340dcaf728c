"""Rows about a person: runs and conversations. Being on the team is not enough to see them.

They carry what the person said and what is remembered of them, so they are seen by who started
them, by the account they are for, and by who made the API key that started them. Nobody else, the
team's owner included.
"""

from typing import Any, ClassVar, Self, TypeVar

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantManager, TenantModel, TenantQuerySet


M = TypeVar("M", bound=models.Model)


class PersonalQuerySet(TenantQuerySet[M]):
    """For models with ``started_by``, ``subject_user`` and ``api_key``."""

    def visible_to(self, principal: Any) -> Self:  # a Principal; accounts.access lies above models
        return super().visible_to(principal).filter(whose(principal))


class PersonalManager(TenantManager[M]):
    _queryset_class = PersonalQuerySet


class Personal(TenantModel):
    """Whom a row is for, and who began it."""

    subject = models.CharField(_("subject"), max_length=255)
    subject_user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("account of the user"),
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
    )
    started_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("started by"),
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
    )
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


def whose(principal: Any) -> models.Q:
    """The rows that are this principal's own business."""
    if principal.kind == "key":
        return models.Q(api_key_id=principal.key.pk)
    if principal.user_id is None:
        return models.Q(pk__in=[])
    return (
        models.Q(started_by_id=principal.user_id)
        | models.Q(subject_user_id=principal.user_id)
        | models.Q(api_key__created_by_id=principal.user_id)
    )
