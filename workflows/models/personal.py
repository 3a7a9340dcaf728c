"""Rows about a person: runs, conversations and tasks, which contain the person's messages and memories.

Such a row is visible to the member who started it, to the member that it is for, to the API keys of the service account
whose key started it, and to the creator of that key, but to no other member of the team, not even to its owner. A visitor
of a public page, for whom the page acts with a key of that account, has their own rows only.
"""

from typing import Any, ClassVar, Self, TypeVar
from uuid import UUID

from django.contrib.postgres.expressions import ArraySubquery
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.models import ApiKey
from accounts.tenancy import TenantManager, TenantModel, TenantQuerySet
from workflows.models.fields import link_to_user


M = TypeVar("M", bound=models.Model)


class PersonalQuerySet(TenantQuerySet[M]):
    """A queryset of models with ``started_by``, ``subject_user`` and ``api_key``."""

    def visible_to(self, principal: Any) -> Self:  # Any: models don't import accounts.access
        return super().visible_to(principal).filter(match_own(principal))


class PersonalManager(TenantManager[M]):
    _queryset_class = PersonalQuerySet


class IsAnyOf(models.Func):
    """Tell whether a column has one of the values that a query returns, which is executed once, before the rows are read.

    As an array, the values can be looked up in an index of the column, also as a part of an OR. A join or ``IN (SELECT …)``
    there makes PostgreSQL read all rows.
    """

    template = "(%(expressions)s))"
    arg_joiner = " = ANY("
    output_field = models.BooleanField()

    def __init__(self, column: str, values: models.QuerySet[Any]) -> None:
        super().__init__(models.F(column), ArraySubquery(values))


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


def match_service_account(account_id: UUID) -> models.Q:
    """Return the condition for rows that the service account started with any of its keys."""
    keys = ApiKey.objects.unscoped().filter(service_account_id=account_id).order_by()
    return models.Q(IsAnyOf("api_key_id", keys.values("pk")))


def match_keys_like(key_id: UUID) -> models.Q:
    """Return the condition for rows that were started with this key, or another one of its service account."""
    keys = ApiKey.objects.unscoped().filter(service_account__keys=key_id).order_by()
    return models.Q(IsAnyOf("api_key_id", keys.values("pk")))


def match_own(principal: Any) -> models.Q:
    """Return the condition for rows that are this principal's own."""
    if principal.kind == "key":
        of_account = match_service_account(principal.key.service_account_id)
        return of_account & models.Q(subject=principal.visitor) if principal.visitor else of_account
    if principal.user_id is None:
        return models.Q(pk__in=[])
    keys = ApiKey.objects.unscoped().filter(created_by_id=principal.user_id).order_by()
    return (
        models.Q(started_by_id=principal.user_id)
        | models.Q(subject_user_id=principal.user_id)
        | models.Q(IsAnyOf("api_key_id", keys.values("pk")))
    )
