"""Request and response bodies of the API. A request body never names its team, owner or id."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Literal
from uuid import UUID

from ninja import Schema
from pydantic import Field

from accounts.audit import ChainReport
from accounts.selectors import GroupOfPeople
from config.http.openapi import Body, with_example


Name = Annotated[str, Field(min_length=1, max_length=120)]
RoleName = Literal["owner", "admin", "editor", "viewer"]
ScopeName = Literal[
    "workflows:read", "workflows:write", "runs:read", "runs:write",
    "memory:read", "memory:write", "memory:serve", "memory:speak", "audit:read", "team:read",
    "credentials:write",
]  # fmt: skip


class TeamOut(Schema):
    id: UUID
    slug: str
    name: str


HistoryName = Literal["request", "client", "server"]


class KeyLimitsIn(Body):
    """The limits that a key has besides those of its team; null is none."""

    model_config = with_example(requests_per_minute=60, runs_per_day=1_000)

    requests_per_minute: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    runs_per_day: Annotated[int, Field(ge=1, le=10**12)] | None = None
    concurrent_runs: Annotated[int, Field(ge=1, le=10**6)] | None = None
    tokens_per_day: Annotated[int, Field(ge=1, le=10**15)] | None = None
    code_seconds_per_day: Annotated[int, Field(ge=1, le=10**9)] | None = None


class KeyOut(Schema):
    id: UUID
    name: str
    prefix: str
    scopes: list[str]
    workflow: UUID | None = Field(
        None, validation_alias="workflow_id", description="the only workflow that the key may use"
    )
    service_account: UUID = Field(
        validation_alias="service_account_id",
        description="the service account that owns what the key opens",
    )
    created_at: dt.datetime
    expires_at: dt.datetime | None
    last_used_at: dt.datetime | None
    revoked_at: dt.datetime | None
    history: HistoryName = Field(
        description="who keeps the conversations of programs for OpenAI's API"
    )
    requests_per_minute: int | None = Field(None, description="of the key alone; null: no limit")
    runs_per_day: int | None = None
    concurrent_runs: int | None = None
    tokens_per_day: int | None = None
    code_seconds_per_day: int | None = None


class MeOut(Schema):
    kind: Literal["user", "key"]
    actor: str
    name: str
    teams: list[TeamOut]
    current_team: UUID | None
    key: KeyOut | None = Field(None, description="the key that asks; None for a session")


class TeamIn(Body):
    model_config = with_example(name="Support")

    name: Name


class MemberOut(Schema):
    id: UUID
    user_id: UUID
    name: str
    email: str
    role: RoleName
    joined_at: dt.datetime


class RoleIn(Body):
    model_config = with_example(role="viewer")

    role: RoleName


class InvitationIn(Body):
    model_config = with_example(role="editor", email="ana@example.org")

    role: RoleName = "editor"
    email: Annotated[str, Field(max_length=254, pattern=r"^$|^[^@\s]+@[^@\s]+$")] = ""


class InvitationOut(Schema):
    id: UUID
    role: RoleName
    email: str
    expires_at: dt.datetime


class NewInvitationOut(InvitationOut):
    url: str = Field(description="the link; not shown again")


class KeyIn(Body):
    model_config = with_example(name="web site", scopes=["runs:read", "runs:write"])

    name: Name
    scopes: Annotated[list[ScopeName], Field(min_length=1, max_length=20)]
    expires_at: dt.datetime | None = None
    workflow: UUID | None = Field(
        None, description="the only workflow that the key may use; by default all of the team's"
    )
    service_account: UUID | None = Field(
        None,
        description="the service account whose conversations, runs and memory the key opens; "
        "by default that of the workflow, or a new one",
    )
    limits: KeyLimitsIn | None = Field(None, description="null: none but those of its team")
    history: HistoryName = Field(
        "request", description="who keeps the conversations of programs for OpenAI's API"
    )


class KeyHistoryIn(Body):
    model_config = with_example(history="server")

    history: HistoryName = Field(
        description="who keeps the conversations of programs for OpenAI's API"
    )


class KeyRotationIn(Body):
    model_config = with_example(overlap_hours=24)

    overlap_hours: Annotated[int, Field(ge=0, le=720)] = Field(
        0, description="for which the old key goes on working; with 0 it is revoked at once"
    )


class ServiceAccountOut(Schema):
    id: UUID
    name: str
    workflow: UUID | None = Field(
        None, validation_alias="workflow_id", description="the only workflow that its keys may use"
    )
    created_at: dt.datetime


class NewKeyOut(KeyOut):
    secret: str = Field(description="the key itself; not shown again")


class AuditOut(Schema):
    seq: int
    at: dt.datetime
    actor_kind: str
    actor: str
    action: str
    subject: str
    detail: dict[str, object]
    success: bool
    hash: str


class ChainOut(Schema):
    length: int
    head: str
    intact: bool
    broken_seq: int | None
    reason: str | None


def to_chain_out(report: ChainReport) -> ChainOut:
    broken_link = report.broken_link
    return ChainOut(
        length=report.length,
        head=report.head,
        intact=report.intact,
        broken_seq=broken_link.seq if broken_link else None,
        reason=broken_link.reason if broken_link else None,
    )


class GroupIn(Body):
    model_config = with_example(name="Night shift")

    name: Annotated[str, Field(min_length=1, max_length=80)]


class GroupOut(Schema):
    id: UUID
    name: str
    members: list[UUID] = Field(description="accounts")


def to_group_out(group: GroupOfPeople) -> GroupOut:
    return GroupOut(
        id=group.row.pk, name=group.row.name, members=[user.pk for user in group.people]
    )
