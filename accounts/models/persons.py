"""Whom the trail means by a pseudonym. It keeps keyed hashes of outside people's ids; with the key's row the link goes.

A key is random and of one person in one team: nobody can try out ids on a trail whose keys are gone.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol
from uuid import UUID

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.pseudonyms import hidden, persons_in
from accounts.tenancy import TenantManager
from config.ids import uuid7


class AuditPerson(models.Model):
    """An outside person or a test person of the trail. Erasing them takes this row, and no entry changes."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    team_id = models.UUIDField(editable=False)
    person = models.CharField(_("person"), max_length=80, editable=False)
    secret = models.BinaryField(_("key"), editable=False)
    pseudonym = models.CharField(_("stands in the trail as"), max_length=27, editable=False)

    _unscoped = models.Manager()
    objects = TenantManager()

    class Meta:
        verbose_name = _("person of the audit trail")
        verbose_name_plural = _("persons of the audit trail")
        ordering = ("team_id", "person")
        constraints = (
            models.UniqueConstraint(fields=("team_id", "person"), name="accounts_auditperson_once"),
            models.UniqueConstraint(
                fields=("team_id", "pseudonym"), name="accounts_auditperson_hidden"
            ),
        )

    def __str__(self) -> str:
        return self.person


class Entry(Protocol):
    """What is to be written into the trail."""

    subject: str
    detail: dict[str, object]


def hide_persons(team_id: UUID, entries: Sequence[Entry]) -> None:
    """Pseudonyms instead of ids, in all that is to be written; one query if somebody is named, two more if anew."""
    named = {one for entry in entries for one in persons_in(entry.subject, entry.detail)}
    known = _pseudonyms(team_id, named)
    if missing := named - set(known):
        AuditPerson._unscoped.bulk_create(
            [_made(team_id, one) for one in sorted(missing)], ignore_conflicts=True
        )
        known = _pseudonyms(team_id, named)
    for entry in entries:
        entry.subject, entry.detail = hidden(entry.subject, entry.detail, known.__getitem__)


def known_pseudonyms(team_id: UUID, persons: Iterable[str]) -> Mapping[str, str]:
    """Those of the people whom the trail knows."""
    return _pseudonyms(team_id, set(persons))


def pseudonym_of_nobody(person: str) -> str:
    """One whose key isn't kept: nobody finds out any more who it was."""
    return _pseudonym(secrets.token_bytes(32), person)


def _pseudonyms(team_id: UUID, persons: set[str]) -> dict[str, str]:
    if not persons:
        return {}
    rows = AuditPerson._unscoped.filter(team_id=team_id, person__in=persons)
    return dict(rows.values_list("person", "pseudonym"))


def _made(team_id: UUID, person: str) -> AuditPerson:
    secret = secrets.token_bytes(32)
    return AuditPerson(
        team_id=team_id, person=person, secret=secret, pseudonym=_pseudonym(secret, person)
    )


def _pseudonym(secret: bytes, person: str) -> str:
    digest = hmac.new(secret, person.encode(), hashlib.sha256).digest()
    return f"~{base64.b32encode(digest).decode().lower()[:26]}"
