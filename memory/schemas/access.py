"""Bodies of the access API: grants, the readers of a namespace with the reasons, and emergency access."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import Field, model_validator

from config.http.openapi import Body, with_example
from memory.models import EmergencyAccess
from memory.schemas.namespaces import NamespaceText
from memory.services.access.emergency_access import MAX_REASON_LENGTH, ReadSummary
from memory.services.access.explanation import (
    AccessExplanation,
    GrantDetails,
    PrincipalAccess,
    Reason,
    RunKind,
)
from memory.services.access.quotas import (
    MAX_APP_LENGTH,
    MAX_BYTES,
    MAX_COUNT,
    MAX_PREFIX_LENGTH,
    Limits,
)


class GrantIn(Body):
    """A grant to ``member`` (the id of a team member's account) or to ``group`` (the id of a team's group)."""

    model_config = with_example(verb="view", member="01900000-0000-7000-8000-000000000001")

    verb: Literal["view", "write", "forget", "share"]
    member: UUID | None = None
    group: UUID | None = None

    @model_validator(mode="after")
    def check_member_or_group(self) -> Self:
        if (self.member is None) == (self.group is None):
            raise ValueError("use either a member or a group")
        return self


class GrantOut(Body):
    verb: str
    member: UUID | None
    group: UUID | None
    name: str
    by: str = Field(description="the actor who shared it, as named in the audit trail")
    at: datetime | None
    holds: bool = Field(
        description="false for a group's grant on a private namespace, which has no effect"
    )


class ReasonOut(Body):
    """A reason for an access. ``why`` is its code; the other fields have the details of some reasons."""

    why: str
    grant: GrantOut | None = None
    until: datetime | None = None
    reason: str = ""


class PrincipalAccessOut(Body):
    kind: Literal["user", "key"]
    id: UUID
    name: str
    role: str
    may: dict[str, list[ReasonOut]]


class AccessOut(Body):
    """The access to a namespace: by people and API keys (``seers``), and by the ``runs`` of workflows."""

    namespace: str
    seers: list[PrincipalAccessOut]
    runs: RunKind
    runs_for_outside_people_write: bool


class EmergencyAccessIn(Body):
    """A request for emergency access. ``minutes``: 15, 60 or 240. The owner of the memory reads the reason."""

    model_config = with_example(
        namespace="user:01900000-0000-7000-8000-000000000001", reason="Case 2031", minutes=15
    )

    namespace: NamespaceText
    reason: str = Field(min_length=1, max_length=MAX_REASON_LENGTH)
    minutes: Literal[15, 60, 240]


class EmergencyAccessOut(Body):
    id: UUID
    namespace: str
    by: UUID
    by_name: str
    reason: str
    created_at: datetime
    expires_at: datetime
    ended_at: datetime | None
    is_open: bool
    reads: int = Field(description="the number of reads under this access")
    entries: list[UUID] = Field(description="the entries that were opened; only for their owner")


Count = Annotated[int, Field(ge=0, le=MAX_COUNT)] | None
Prefix = Annotated[str, Field(min_length=1, max_length=MAX_PREFIX_LENGTH)]


class PolicyIn(Body):
    model_config = with_example(allowed_prefixes=["user:", "global:"], max_entries=5000)

    allowed_prefixes: Annotated[list[Prefix], Field(max_length=50)] | None = None
    max_entries: Count = None
    max_value_bytes: Count = None
    max_namespace_bytes: Annotated[int, Field(ge=0, le=MAX_BYTES)] | None = None
    max_namespaces: Count = None
    subjects_write_global: bool | None = None

    def to_limits(self) -> Limits:
        values = self.dict()
        prefixes = values.pop("allowed_prefixes")
        return Limits(None if prefixes is None else tuple(prefixes), **values)


class PolicyQuery(Body):
    """The policy of an application, whose id is ``app`` as in ``global:{app}``, or of the whole team without an id."""

    app: Annotated[str, Field(max_length=MAX_APP_LENGTH)] = ""


class PolicyOut(Body):
    """A policy. ``own`` has the limits set for the team or the application, ``in_force`` those that apply."""

    own: PolicyIn
    in_force: PolicyIn


def policy_out(own: Limits, in_force: Limits) -> PolicyOut:
    return PolicyOut(own=PolicyIn(**asdict(own)), in_force=PolicyIn(**asdict(in_force)))


def grant_out(grant: GrantDetails) -> GrantOut:
    return GrantOut.from_object(
        grant,
        member=grant.user.pk if grant.user else None,
        group=grant.group.pk if grant.group else None,
        name=str(grant.user or grant.group),
        by=grant.granted_by,
        at=grant.granted_at,
        holds=grant.has_effect,
    )


def access_out(explanation: AccessExplanation) -> AccessOut:
    return AccessOut(
        namespace=explanation.namespace.text,
        seers=[_principal_out(access) for access in explanation.principals if access.reasons],
        runs=explanation.runs,
        runs_for_outside_people_write=explanation.external_runs_write,
    )


def emergency_access_out(
    access: EmergencyAccess, reads: Mapping[UUID, ReadSummary], *, show_entries: bool
) -> EmergencyAccessOut:
    summary = reads.get(access.pk, ReadSummary(0, ()))
    return EmergencyAccessOut.from_object(
        access,
        namespace=access.namespace.text,
        by=access.by_id,
        by_name=str(access.by),
        is_open=access.is_open(),
        reads=summary.count,
        entries=list(summary.entries) if show_entries else [],
    )


def _principal_out(access: PrincipalAccess) -> PrincipalAccessOut:
    may = {verb: list(map(_reason_out, reasons)) for verb, reasons in access.reasons.items()}
    return PrincipalAccessOut.from_object(access, may=may)


def _reason_out(reason: Reason) -> ReasonOut:
    access = reason.emergency_access
    return ReasonOut(
        why=reason.kind.value,
        grant=grant_out(reason.grant) if reason.grant else None,
        until=access.expires_at if access else None,
        reason=access.reason if access else "",
    )
