"""Routes of ``/api/v1/audit``: the audit trail of the current team, for those who may read it."""

import datetime as dt
from typing import Annotated, Any, Literal

from django.http import HttpRequest
from ninja import Query, Router, Schema
from ninja.pagination import paginate
from pydantic import Field

from accounts import audit, schemas, selectors
from accounts.http.auth import api_auth
from accounts.models import AuditEntry, Team
from accounts.principals import Principal, get_current_team_id, get_principal
from accounts.services import trail
from accounts.services.checkpoints import sign_head
from accounts.services.downloads import FileDownload
from config.http.openapi import Body
from config.http.pages import KeysetListing, Pages, Rows


router = Router(auth=api_auth(), tags=["audit"])


class AuditFilterIn(Body):
    """The filters of a request. An ``action`` that ends with a period, such as ``memory.``, matches a whole family."""

    actor: Annotated[str, Field(max_length=120)] = ""
    action: Annotated[str, Field(max_length=60)] = ""
    subject: Annotated[str, Field(max_length=300)] = ""
    run: Annotated[str, Field(max_length=80)] = ""
    node: Annotated[str, Field(max_length=200)] = ""
    since: dt.datetime | None = None
    until: dt.datetime | None = None
    success: bool | None = None

    def to_filter(self) -> trail.AuditFilter:
        fields = {name: getattr(self, name) for name in AuditFilterIn.model_fields}
        for name in ("since", "until"):
            if fields[name] is not None and fields[name].tzinfo is None:
                fields[name] = fields[name].replace(tzinfo=dt.UTC)
        return trail.AuditFilter(**fields)


class ExportIn(AuditFilterIn):
    format: Literal["jsonl", "csv"] = "jsonl"


class HeadOut(Schema):
    """A signed head. Store it elsewhere: with it, ``manage.py audit_verify --head FILE`` proves that no entry was
    removed from the end.
    """

    format: str
    version: int
    team: str
    seq: int
    hash: str
    at: str
    key: str = Field(description="Ed25519, base64")
    signature: str = Field(description="of the other fields but the key, as JSON with sorted names and no spaces")  # fmt: skip


@router.get("/audit", response=list[schemas.AuditOut])
@paginate(Pages)
def read_trail(request: HttpRequest, params: Query[AuditFilterIn]) -> KeysetListing[AuditEntry]:
    """Return the entries of the audit trail, newest first. You need the permission to read the audit trail."""
    return list_audit(get_principal(request), _find_team(request), params.to_filter())


@router.get("/audit/verify", response=schemas.ChainOut)
def verify_trail(request: HttpRequest) -> schemas.ChainOut:
    """Verify the audit trail's hash chain and return the first entry that doesn't fit."""
    return schemas.to_chain_out(audit.verify(_find_team(request).pk))


@router.get("/audit/head", response=HeadOut)
def read_head(request: HttpRequest) -> dict[str, Any]:
    """Return the number of entries, the newest hash and a signature.

    Stored elsewhere, the response proves later that no entry was removed from the end.
    """
    return sign_head(_find_team(request).pk).to_json()


@router.get("/audit/export")
def export_trail(request: HttpRequest, params: Query[ExportIn]) -> FileDownload:
    """Stream all matching entries, oldest first. The audit trail records the export."""
    principal, team = get_principal(request), _find_team(request)
    pieces = trail.export(principal, team=team, filters=params.to_filter(), kind=params.format)
    return FileDownload(pieces, name=f"audit-{team.slug}", kind=params.format)


def list_audit(
    principal: Principal, team: Team, filters: trail.AuditFilter
) -> KeysetListing[AuditEntry]:
    def read(before: int | None, limit: int) -> Rows[AuditEntry]:
        rows = trail.list_entries(principal, team=team, filters=filters, before=before, limit=limit)
        return Rows(rows)

    return KeysetListing(read, lambda entry: entry.seq)


def _find_team(request: HttpRequest) -> Team:
    return selectors.find_team(get_principal(request), "audit.view", get_current_team_id(request))
