"""Emergency access: who looked into somebody's private memory, why, until when, and whether they were told.

A row is the notice as well as the permission. It is never deleted but with the namespace itself, and
the database lets nothing of it be changed but its early end and who has seen it.
"""

from datetime import datetime
from typing import ClassVar, Self, cast
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
from memory.models.readable import any_of


VERB = "memory.use_emergency_access"

# The namespace of a row is one of those whose it is.
_THEIRS = ("namespace__owner_user", "namespace__persona_of")


class EmergencyAccessQuerySet(TenantQuerySet["EmergencyAccess"]):
    def visible_to(self, principal: HasTeams) -> Self:
        """Those whose memory it was, who looked, and everybody who could have."""
        who = cast(Principal, principal)  # tenancy knows only the half of it that it needs
        if who.kind != "user" or who.user_id is None:
            return self.none()
        seen = Q(by=who.user_id) | is_of(who.user_id) | Q(team__in=_teams_of(who))
        return super().visible_to(principal).filter(seen)

    def open_at(self, now: datetime) -> Self:
        return self.filter(ended_at=None, expires_at__gt=now)


def is_of(user_id: UUID) -> Q:
    """Those into what is this person's; who looked into their own had no need to be told."""
    return is_into_what_is(user_id) & ~Q(by=user_id)


def is_into_what_is(user_id: UUID) -> Q:
    theirs = Q(namespace__participants__contains=[user_id])
    for one in _THEIRS:
        theirs |= Q(**{one: user_id})
    return theirs


def _teams_of(principal: Principal) -> list[UUID]:
    """Where they could look into what is private; a role that was taken away ends it at once."""
    return [team for team in principal.team_ids if access.can(principal, VERB, team)]


class EmergencyAccess(TenantModel):
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
    def tells_somebody(self) -> bool:
        """An outside person has no account; what they are told, the programme that names them tells."""
        row = self.namespace
        whose = {row.owner_user_id, row.persona_of_id, *row.participants}
        return bool(whose - {None, self.by_id})

    @property
    def over_at(self) -> datetime:
        return min(self.ended_at or self.expires_at, self.expires_at)


def opened_to(principal: Principal) -> Q:
    """Of namespaces: those this person looks into by emergency access at this moment."""
    teams = _teams_of(principal) if principal.kind == "user" else []
    if not teams:
        return Q(pk__in=[])
    rows = EmergencyAccess.objects.unscoped().filter(by=principal.user_id, team__in=teams)
    found = cast(EmergencyAccessQuerySet, rows).open_at(timezone.now())
    return any_of("id", found, "namespace_id")


def find_open_emergency_access(
    principal: Principal, namespace_id: UUID, team_id: UUID
) -> EmergencyAccess | None:
    """The one by which they may look there now; of several the one that lasts longest."""
    if principal.kind != "user" or not access.can(principal, VERB, team_id):
        return None
    rows = EmergencyAccess.objects.unscoped().filter(
        by=principal.user_id, team=team_id, namespace=namespace_id
    )
    return (
        cast(EmergencyAccessQuerySet, rows)
        .open_at(timezone.now())
        .order_by("-expires_at", "-id")
        .first()
    )
