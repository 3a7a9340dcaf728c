"""Signed heads of the audit trail: a head stored elsewhere proves that no entry was removed from the end.

The chain alone shows whether the entries fit together, but not whether the newest entries are missing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import structlog
from django.conf import settings
from django.utils import timezone

from accounts import audit
from accounts.models import AuditEntry, Team
from accounts.models.audit import GENESIS
from accounts.tenancy import tenant
from config.encryption.crypto import Signature, is_signed, sign


PURPOSE = "audit head"
FORMAT = "mnemoflow-audit-head"

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Head:
    """The length and hash of a team's audit trail at a given time, signed by this installation."""

    team_id: UUID
    seq: int
    hash: str
    at: datetime
    signature: Signature

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        claims = _build_claims(self.team_id, self.seq, self.hash, self.at)
        return claims | {"key": self.signature.public_key, "signature": self.signature.value}


Finding = Literal["valid", "forged", "cut", "changed", "no team"]


@dataclass(frozen=True, slots=True)
class HeadCheck:
    """The result of comparing a head with the current audit trail, which has ``length`` entries."""

    head: Head
    finding: Finding
    length: int

    @property
    def is_valid(self) -> bool:
        return self.finding == "valid"


def sign_head(team_id: UUID) -> Head:
    """Return the current head of a team's audit trail with a signature."""
    (seq, hash_), at = audit.read_head(team_id), timezone.now()
    claims = _build_claims(team_id, seq, hash_, at)
    return Head(team_id, seq, hash_, at, sign(_serialize(claims), PURPOSE))


def check_head(head: Head) -> HeadCheck:
    """Compare a signed head with the entries of the audit trail. The head in the database is not trusted."""
    length = _read_length(head.team_id)
    claims = _build_claims(head.team_id, head.seq, head.hash, head.at)
    if not is_signed(_serialize(claims), PURPOSE, head.signature):
        return HeadCheck(head, "forged", length)
    if not Team.objects.filter(pk=head.team_id).exists():
        return HeadCheck(head, "no team", length)
    if length < head.seq:
        return HeadCheck(head, "cut", length)
    is_unchanged = _read_hash(head.team_id, head.seq) == head.hash
    return HeadCheck(head, "valid" if is_unchanged else "changed", length)


def read_heads(text: str) -> Iterator[Head]:
    """Parse the text of a file: one head as JSON, or one per line. Raise ``ValueError`` with the reason if invalid."""
    try:
        trees = [json.loads(text)]
    except json.JSONDecodeError:
        trees = [json.loads(line) for line in text.splitlines() if line.strip()]
    if not trees:
        raise ValueError("contains no signed head")
    for tree in trees:
        yield _parse_head(tree)


def write_checkpoint() -> int:
    """Append each team's signed head to the file AUDIT_HEADS_FILE and to the log; return the number of heads."""
    path = Path(settings.AUDIT_HEADS_FILE)
    path.parent.mkdir(parents=True, exist_ok=True)
    heads = [sign_head(pk) for pk in Team.objects.order_by("pk").values_list("pk", flat=True)]
    with path.open("a", encoding="utf-8") as file:
        for head in heads:
            file.write(_serialize(head.to_json()) + "\n")
            log.info("audit_head", **head.to_json())
    return len(heads)


def _build_claims(team_id: UUID, seq: int, hash_: str, at: datetime) -> dict[str, Any]:
    return {"format": FORMAT, "version": 1, "team": str(team_id), "seq": seq, "hash": hash_, "at": at.isoformat()}  # fmt: skip


def _serialize(claims: Mapping[str, Any]) -> str:
    """Serialize claims in the only form that is signed and verified."""
    return json.dumps(claims, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _parse_head(tree: Any) -> Head:  # Any: whatever a file holds
    if not isinstance(tree, dict) or tree.get("format") != FORMAT or tree.get("version") != 1:
        raise ValueError("not a signed head of an audit trail")
    try:
        at = datetime.fromisoformat(tree["at"])
        signature = Signature(str(tree["key"]), str(tree["signature"]))
        return Head(UUID(tree["team"]), int(tree["seq"]), str(tree["hash"]), at, signature)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"invalid signed head: {error}") from error


def _read_length(team_id: UUID) -> int:
    with tenant([team_id]):
        newest = AuditEntry.objects.unscoped().filter(team_id=team_id).order_by("-seq")
        return newest.values_list("seq", flat=True).first() or 0


def _read_hash(team_id: UUID, seq: int) -> str:
    if seq == 0:
        return GENESIS
    with tenant([team_id]):
        row = AuditEntry.objects.unscoped().filter(team_id=team_id, seq=seq)
        return row.values_list("hash", flat=True).first() or ""
