"""Namespaces, the containers of entries to which permissions, quotas and counts apply."""

from typing import Any, ClassVar, Self, TypeVar, cast
from uuid import UUID

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts import access
from accounts.personas import (
    build_service_subject_pattern,
    build_visitor_subject_pattern,
    make_service_subject,
)
from accounts.principals import Principal, acts_for_page, get_service_account_id
from accounts.tenancy import HasTeams, TenantManager, TenantModel, TenantQuerySet
from memory.core.scope_kinds import SeenBy
from memory.core.scopes import list_scope_kinds, list_words_seen_by
from memory.models.conditions import build_any_of_condition, build_choices_constraint
from memory.models.emergency_access import build_open_condition


M = TypeVar("M", bound=models.Model)


class ScopeChoice(models.TextChoices):
    """The labels of ``memory.core.scopes.Scope``."""

    CONVERSATION = "conversation", _("Conversation")
    USER = "user", _("User")
    GLOBAL = "global", _("Global")
    WORKFLOW = "workflow", _("Workflow")
    RUN = "run", _("Run")
    RUN_METADATA = "run_metadata", _("Run metadata")


class PauseChoice(models.TextChoices):
    """The parts of memory that a person can pause."""

    NOTHING = "", _("None")
    REMEMBERING = "remembering", _("Storing")
    RECALLING = "recalling", _("Recalling")
    BOTH = "both", _("Both")


class NamespaceQuerySet(TenantQuerySet["Namespace"]):
    def visible_to(self, principal: HasTeams) -> Self:
        """Limit the namespaces to those that the principal can see. No role makes private memory visible."""
        return self._filter_visible(principal, Q(pk__in=[]))

    def open_to(self, principal: Principal) -> Self:
        """Limit the namespaces to those that the principal can see, emergency access included.

        Only for callers that show one namespace and record that. Lists of namespaces use ``visible_to``.
        """
        return self._filter_visible(principal, build_open_condition(principal))

    def nameable_by(self, principal: Principal) -> Self:
        """Limit the namespaces to those that the principal can see, or that a key may name: its program's and its users'.

        Only for callers that know them from the key's own runs. Lists of namespaces use ``visible_to``.
        """
        return self._filter_visible(principal, _build_named_condition(principal))

    def _filter_visible(self, principal: HasTeams, extra_condition: Q) -> Self:
        actor = cast(Principal, principal)  # ``HasTeams`` has only a part of its fields
        if not actor.allows("memory:read"):
            return self.none()
        # Keys and members see the namespaces of the team's workflows by their role.
        condition = Q(scope__in=list_words_seen_by(SeenBy.TEAM))
        if actor.user_id is not None:
            condition |= _build_private_condition(actor, actor.user_id)
        elif (account_id := get_service_account_id(actor)) is not None:
            condition |= Q(participants__contains=[account_id])  # conversations that it started
        # Namespaces of a removed plug-in are hidden, as no scope defines who can see them.
        scopes = [kind.word for kind in list_scope_kinds()]
        return super().visible_to(principal).filter(condition | extra_condition, scope__in=scopes)


def _build_private_condition(principal: Principal, user_id: UUID) -> Q:
    return (
        Q(owner_user=user_id)
        | Q(persona_of=user_id)
        | Q(participants__contains=[user_id])
        | _build_program_condition(principal)
        # Private memory is shared with single people only; see permissions.is_shared_with.
        | access.filter_shared(principal, "memory.view", Namespace, in_person=True)
    )


def _build_named_condition(principal: Principal) -> Q:
    """Return the condition for the memory of a key's program and of users without an account.

    Visitors of public pages and other programs are nobody whom a key may name.
    """
    account_id = get_service_account_id(principal)
    if principal.kind != "key" or account_id is None or acts_for_page(principal):
        return Q(pk__in=[])
    is_user = Q(scope=ScopeChoice.USER, owner_user=None, persona_of=None)
    never_named = rf"^user:({build_service_subject_pattern()}|{build_visitor_subject_pattern()})$"
    is_own = Q(text=f"user:{make_service_subject(account_id)}")
    return is_user & (is_own | ~Q(text__regex=never_named))


def _build_program_condition(principal: Principal) -> Q:
    """Return the condition for the memory of programs whose keys the principal manages."""
    is_person = principal.kind == "user"  # and no run that one started
    teams = [
        team
        for team in principal.team_ids
        if is_person and access.can(principal, "key.manage", team)
    ]
    if not teams:
        return Q(pk__in=[])
    own_subjects = rf"^user:{build_service_subject_pattern()}$"
    return Q(team_id__in=teams, scope=ScopeChoice.USER, text__regex=own_subjects)


class Namespace(TenantModel):
    """A namespace, such as ``user:alice``, of one team; another team may have a namespace with the same text."""

    text = models.CharField(_("namespace"), max_length=200, editable=False)
    scope = models.CharField(_("scope"), max_length=40, editable=False)
    # Of a knowledge base that a person created; other namespaces get their titles from what they belong to.
    name = models.CharField(_("name"), max_length=100, blank=True, default="", db_default="")
    description = models.CharField(
        _("description"), max_length=1_000, blank=True, default="", db_default=""
    )
    owner_user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,  # the user's memory must be erased first, with a receipt
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("user"),
    )
    persona_of = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("added by"),
    )
    participants = ArrayField(
        models.UUIDField(), default=list, blank=True, verbose_name=_("participants")
    )
    app_id = models.CharField(_("application"), max_length=80, blank=True, editable=False)
    conversation_id = models.CharField(_("conversation"), max_length=80, blank=True, editable=False)
    entry_count = models.IntegerField(_("entries"), default=0, editable=False)
    byte_count = models.BigIntegerField(_("bytes"), default=0, editable=False)
    max_entries = models.PositiveIntegerField(_("max entries"), null=True, blank=True)
    max_bytes = models.PositiveBigIntegerField(_("max bytes"), null=True, blank=True)
    # The pause has no separate table, as every operation reads this row anyway.
    paused = models.CharField(
        _("paused"), max_length=11, choices=PauseChoice, blank=True, default=PauseChoice.NOTHING
    )
    paused_since = models.DateTimeField(_("paused since"), null=True, blank=True, editable=False)
    paused_until = models.DateTimeField(_("paused until"), null=True, blank=True)
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    # The provider that has the entries, if it isn't PostgreSQL: another setting would hide them.
    kept_in = models.CharField(
        _("provider"), max_length=80, blank=True, default="", db_default="", editable=False
    )

    objects: ClassVar[TenantManager[Self]] = TenantManager.from_queryset(NamespaceQuerySet)()

    class Meta:
        verbose_name = _("namespace")
        verbose_name_plural = _("namespaces")
        ordering = ("scope", "text", "id")
        constraints = (
            models.UniqueConstraint(fields=("team", "text"), name="memory_namespace_once"),
            models.CheckConstraint(
                condition=Q(scope__regex=r"^[a-z][a-z0-9_-]*$"), name="memory_namespace_scope"
            ),
            build_choices_constraint("paused", PauseChoice, "memory_namespace_paused"),
            models.CheckConstraint(
                condition=Q(entry_count__gte=0, byte_count__gte=0), name="memory_namespace_counts"
            ),
        )
        indexes = (
            GinIndex(fields=("participants",), name="memory_ns_participants"),
            models.Index(fields=("team", "scope", "text"), name="memory_ns_by_scope"),
        )

    def __str__(self) -> str:
        return self.text

    def get_scope_display(self) -> str:
        """Return the label of the scope, which may come from a plug-in."""
        labels = {kind.word: kind.label for kind in list_scope_kinds()} | dict(ScopeChoice.choices)
        return str(labels.get(self.scope) or self.scope)


class NamespacedQuerySet(TenantQuerySet[M]):
    """Rows that belong to a namespace and are as visible as it is."""

    namespace_field: ClassVar[str] = "namespace_id"

    def visible_to(self, principal: HasTeams) -> Self:
        return self.filter_namespaces(principal, Namespace.objects.visible_to(principal))

    def filter_namespaces(self, principal: HasTeams, namespaces: models.QuerySet[Any]) -> Self:
        """Limit the rows of the principal's teams to those of the namespaces."""
        rows = super().visible_to(principal)
        return rows.filter(build_any_of_condition(self.namespace_field, namespaces))
