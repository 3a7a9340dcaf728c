"""Signed heads of the audit trail: proof, kept elsewhere, that nothing newest was cut off.

The chain says whether what is there fits together. Only who kept a head can say that it still reaches as far.
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
from config.crypto import Signed, is_signed, sign


PURPOSE = "audit head"
FORMAT = "mnemoflow-audit-head"

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Head:
    """How far a team's trail reached at a moment, signed by the installation that kept it."""

    team_id: UUID
    seq: int
    hash: str
    at: datetime
    signed: Signed

    def tree(self) -> dict[str, Any]:  # Any: JSON
        return {**_claims(self.team_id, self.seq, self.hash, self.at), "key": self.signed.key, "signature": self.signed.signature}  # fmt: skip


Finding = Literal["holds", "forged", "cut", "changed", "no team"]


@dataclass(frozen=True, slots=True)
class Held:
    """What a head says of the trail as it is now. ``length``: how far that reaches."""

    head: Head
    finding: Finding
    length: int

    @property
    def holds(self) -> bool:
        return self.finding == "holds"


def signed_head(team_id: UUID) -> Head:
    seq, newest = audit.head(team_id)
    at = timezone.now()
    return Head(team_id, seq, newest, at, sign(_text(_claims(team_id, seq, newest, at)), PURPOSE))


def check_head(head: Head) -> Held:
    """Against the trail's own rows, not against what the database says its head is."""
    length = _length(head.team_id)
    claims = _claims(head.team_id, head.seq, head.hash, head.at)
    if not is_signed(_text(claims), PURPOSE, head.signed):
        return Held(head, "forged", length)
    if not Team.objects.filter(pk=head.team_id).exists():
        return Held(head, "no team", length)
    if length < head.seq:
        return Held(head, "cut", length)
    return Held(
        head, "holds" if _hash_at(head.team_id, head.seq) == head.hash else "changed", length
    )


def read_heads(text: str) -> Iterator[Head]:
    """A file's: one head as JSON, or one a line. ``ValueError`` says what is wrong with it."""
    try:
        trees = [json.loads(text)]
    except json.JSONDecodeError:
        trees = [json.loads(line) for line in text.splitlines() if line.strip()]
    if not trees:
        raise ValueError("there is no head in it")
    for tree in trees:
        yield _read(tree)


def checkpoint() -> int:
    """Each team's head, signed, into a file beside the database and into the log; how many there were."""
    path = Path(settings.AUDIT_HEADS_FILE)
    path.parent.mkdir(parents=True, exist_ok=True)
    heads = [signed_head(pk) for pk in Team.objects.order_by("pk").values_list("pk", flat=True)]
    with path.open("a", encoding="utf-8") as file:
        for head in heads:
            file.write(_text(head.tree()) + "\n")
            log.info("audit_head", **head.tree())
    return len(heads)


def _claims(team_id: UUID, seq: int, hash_: str, at: datetime) -> dict[str, Any]:
    return {"format": FORMAT, "version": 1, "team": str(team_id), "seq": seq, "hash": hash_, "at": at.isoformat()}  # fmt: skip


def _text(tree: Mapping[str, Any]) -> str:
    """The one way to write it, so that what is signed is what is checked."""
    return json.dumps(tree, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _read(tree: Any) -> Head:  # Any: whatever a file holds
    if not isinstance(tree, dict) or tree.get("format") != FORMAT or tree.get("version") != 1:
        raise ValueError("this is no signed head of an audit trail")
    try:
        return Head(
            UUID(tree["team"]),
            int(tree["seq"]),
            str(tree["hash"]),
            datetime.fromisoformat(tree["at"]),
            Signed(str(tree["key"]), str(tree["signature"])),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"a signed head lacks something or has it wrong: {error}") from error


def _length(team_id: UUID) -> int:
    with tenant([team_id]):
        newest = AuditEntry.objects.unscoped().filter(team_id=team_id).order_by("-seq")
        return newest.values_list("seq", flat=True).first() or 0


def _hash_at(team_id: UUID, seq: int) -> str:
    if seq == 0:
        return GENESIS
    with tenant([team_id]):
        row = AuditEntry.objects.unscoped().filter(team_id=team_id, seq=seq)
        return row.values_list("hash", flat=True).first() or ""
