"""Emergency access to private memory: the viewer, the reason, the period, and whether the owner has seen the notice."""

from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast
from uuid import UUID

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts import access
from accounts.principals import Principal
from accounts.tenancy import HasTeams, TenantManager, TenantModel, TenantQuerySet
from memory.models.conditions import build_any_of_condition


if TYPE_CHECKING:
    from memory.models.namespaces import Namespace


EMERGENCY_VERB = "memory.use_emergency_access"


class EmergencyAccessQuerySet(TenantQuerySet["EmergencyAccess"]):
    def visible_to(self, principal: HasTeams) -> Self:
        """Limit the rows to those that the owner of the memory, the viewer, or a member with the permission may see."""
        reader = cast(Principal, principal)  # ``HasTeams`` has only a part of its fields
        if reader.kind != "user" or reader.user_id is None:
            return self.none()
        visible = (
            Q(by=reader.user_id)
            | build_notified_condition(reader.user_id)
            | Q(team__in=_list_teams(reader))
        )
        return super().visible_to(principal).filter(visible)

    def filter_open(self, now: datetime) -> Self:
        return self.filter(ended_at=None, expires_at__gt=now)


def build_notified_condition(user_id: UUID) -> Q:
    """Return the condition for the emergency accesses of others to this person's memory, which need a notice."""
    return build_owner_condition(user_id) & ~Q(by=user_id)


def build_owner_condition(user_id: UUID) -> Q:
    """Return the condition for the emergency accesses to this person's memory."""
    return (
        Q(namespace__participants__contains=[user_id])
        | Q(namespace__owner_user=user_id)
        | Q(namespace__persona_of=user_id)
    )


def _list_teams(principal: Principal) -> list[UUID]:
    """Return the teams in which the principal may use emergency access, which ends at once without the permission."""
    return [team for team in principal.team_ids if access.can(principal, EMERGENCY_VERB, team)]


class EmergencyAccess(TenantModel):
    """An emergency access. The database allows no change of a row but its early end and the acknowledgements."""

    namespace = models.ForeignKey(
        "memory.Namespace", on_delete=models.PROTECT, related_name="+", verbose_name=_("namespace")
    )
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="+",
        editable=False,
        verbose_name=_("viewer"),
    )
    reason = models.CharField(_("reason"), max_length=500, editable=False)
    created_at = models.DateTimeField(_("started"), default=timezone.now, editable=False)
    expires_at = models.DateTimeField(_("until"), editable=False)
    ended_at = models.DateTimeField(_("ended"), null=True, blank=True, editable=False)
    ended_by = models.CharField(_("ended by"), max_length=120, blank=True, editable=False)
    seen_by = ArrayField(
        models.UUIDField(),
        default=list,
        blank=True,
        editable=False,
        verbose_name=_("acknowledged by"),
    )

    objects: ClassVar[TenantManager[Self]] = TenantManager.from_queryset(EmergencyAccessQuerySet)()

    class Meta:
        verbose_name = _("emergency access")
        verbose_name_plural = _("emergency access records")
        ordering = ("-created_at", "-id")
        constraints = (
            models.CheckConstraint(condition=~Q(reason=""), name="memory_emergency_access_reason"),
            models.CheckConstraint(
                condition=Q(expires_at__gt=F("created_at")), name="memory_emergency_access_ends"
            ),
        )
        indexes = (
            models.Index(
                fields=("by", "expires_at"),
                condition=Q(ended_at=None),
                name="memory_emergency_access_open",
            ),
            models.Index(
                fields=("team", "-created_at", "-id"), name="memory_emergency_access_newest"
            ),
            models.Index(fields=("namespace", "-created_at"), name="memory_emergency_access_of"),
        )

    def __str__(self) -> str:
        return f"{self.by_id} → {self.namespace_id}"

    def is_open(self, at: datetime | None = None) -> bool:
        return self.ended_at is None and (at or timezone.now()) < self.expires_at

    @property
    def notifies_owner(self) -> bool:
        """Return whether an owner has an account here. The API key that names an external user has to notify them."""
        namespace = self.namespace
        owner_ids = {namespace.owner_user_id, namespace.persona_of_id, *namespace.participants}
        return bool(owner_ids - {None, self.by_id})

    @property
    def effective_end(self) -> datetime:
        return min(self.ended_at or self.expires_at, self.expires_at)


def build_open_condition(principal: Principal) -> Q:
    """Return the condition for the namespaces that the principal may view by emergency access at this moment."""
    teams = _list_teams(principal) if principal.kind == "user" else []
    if not teams:
        return Q(pk__in=[])
    return build_any_of_condition(
        "id", _list_open(by=principal.user_id, team__in=teams), "namespace_id"
    )


def find_open_emergency_access(
    principal: Principal, namespace: "Namespace"
) -> EmergencyAccess | None:
    """Return the emergency access, of several the last to end, by which the principal may view the namespace now."""
    if principal.kind != "user" or not access.can(principal, EMERGENCY_VERB, namespace.team_id):
        return None
    accesses = _list_open(by=principal.user_id, team=namespace.team_id, namespace=namespace.pk)
    return accesses.order_by("-expires_at", "-id").first()


def _list_open(**conditions: Any) -> EmergencyAccessQuerySet:
    rows = EmergencyAccess.objects.unscoped().filter(**conditions)
    return cast(EmergencyAccessQuerySet, rows).filter_open(timezone.now())
