"""``/api/v1/audit``: the trail of the current team, for who may read it."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any, Literal

from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field

from accounts import audit, schemas, selectors
from accounts.auth import api_auth
from accounts.models import Team
from accounts.principals import current_team_id, principal_of
from accounts.services import trail
from accounts.services.downloads import FileAnswer
from accounts.services.heads import signed_head
from config.schema import LongNumber


router = Router(auth=api_auth(), tags=["audit"])


class AskedIn(schemas.In):
    """``action`` may be a whole family: ``memory.`` ends with its point."""

    actor: Annotated[str, Field(max_length=120)] = ""
    action: Annotated[str, Field(max_length=60)] = ""
    subject: Annotated[str, Field(max_length=300)] = ""
    run: Annotated[str, Field(max_length=80)] = ""
    node: Annotated[str, Field(max_length=200)] = ""
    since: dt.datetime | None = None
    until: dt.datetime | None = None
    success: bool | None = None

    def asked(self) -> trail.Asked:
        fields = {name: getattr(self, name) for name in AskedIn.model_fields}
        for name in ("since", "until"):
            if fields[name] is not None and fields[name].tzinfo is None:
                fields[name] = fields[name].replace(tzinfo=dt.UTC)
        return trail.Asked(**fields)


class ListIn(AskedIn):
    before: LongNumber | None = None
    limit: Annotated[int, Field(ge=1, le=500)] = 50


class ExportIn(AskedIn):
    format: Literal["jsonl", "csv"] = "jsonl"


class TrailOut(Schema):
    """``older``: say it as ``before`` for the next page; none: that was all."""

    entries: list[schemas.AuditOut]
    older: int | None


class HeadOut(Schema):
    """Keep it elsewhere: ``manage.py audit_verify --head FILE`` proves with it that nothing newest was cut off."""

    format: str
    version: int
    team: str
    seq: int
    hash: str
    at: str
    key: str = Field(description="Ed25519, base64")
    signature: str = Field(description="of the other fields but the key, as JSON with sorted names and no spaces")  # fmt: skip


@router.get("/audit", response=TrailOut)
def read_trail(request: HttpRequest, asked: Query[ListIn]) -> dict[str, Any]:
    """Newest first."""
    principal, limit = principal_of(request), asked.limit
    found = trail.entries(
        principal, team=_team(request), asked=asked.asked(), before=asked.before, limit=limit + 1
    )
    shown = found[:limit]
    return {"entries": shown, "older": shown[-1].seq if len(found) > limit else None}


@router.get("/audit/verify", response=schemas.ChainOut)
def verify_trail(request: HttpRequest) -> schemas.ChainOut:
    """Recompute the chain and name the first entry that doesn't fit."""
    return schemas.chain_out(audit.verify(_team(request).pk))


@router.get("/audit/head", response=HeadOut)
def read_head(request: HttpRequest) -> dict[str, Any]:
    """How many entries there are, the newest fingerprint, and a signature: kept elsewhere, it shows that nothing was cut off."""
    return signed_head(_team(request).pk).tree()


@router.get("/audit/export")
def export_trail(request: HttpRequest, asked: Query[ExportIn]) -> FileAnswer:
    """Oldest first, streamed; the trail says that it was taken."""
    team = _team(request)
    pieces = trail.export(principal_of(request), team=team, asked=asked.asked(), kind=asked.format)
    return FileAnswer(pieces, name=f"audit-{team.slug}", kind=asked.format)


def _team(request: HttpRequest) -> Team:
    return selectors.team_for(principal_of(request), "audit.view", current_team_id(request))
