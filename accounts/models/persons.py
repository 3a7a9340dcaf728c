"""The persons behind the pseudonyms of the audit trail, which stores keyed hashes of external users' ids.

A key is random and belongs to one person in one team: deleting its row removes the link, and ids can't be guessed
from an audit trail whose keys are deleted.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence, Set
from typing import Protocol
from uuid import UUID

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.pseudonyms import find_persons, replace_ids
from accounts.tenancy import TenantManager
from config.ids import uuid7


class AuditPerson(models.Model):
    """An external user or a test persona in the audit trail. Erasure deletes this row and changes no entry."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    team_id = models.UUIDField(editable=False)
    person = models.CharField(_("user"), max_length=80, editable=False)
    secret = models.BinaryField(_("key"), editable=False)
    pseudonym = models.CharField(_("pseudonym"), max_length=27, editable=False)

    _unscoped = models.Manager()
    objects = TenantManager()

    class Meta:
        verbose_name = _("audit trail identity")
        verbose_name_plural = _("audit trail identities")
        ordering = ("team_id", "person")
        constraints = (
            models.UniqueConstraint(fields=("team_id", "person"), name="accounts_auditperson_once"),
            models.UniqueConstraint(
                fields=("team_id", "pseudonym"), name="accounts_auditperson_hidden"
            ),
        )

    def __str__(self) -> str:
        return self.person


class TrailEntry(Protocol):
    """An entry that is about to be written into the audit trail."""

    subject: str
    detail: dict[str, object]


def pseudonymize_entries(team_id: UUID, entries: Sequence[TrailEntry]) -> None:
    """Replace external users' ids by pseudonyms in entries that are about to be written.

    This takes one query if an entry names a person, and two more if a person is new to the audit trail.
    """
    persons = {person for entry in entries for person in find_persons(entry.subject, entry.detail)}
    pseudonyms = find_pseudonyms(team_id, persons)
    if missing := persons - set(pseudonyms):
        AuditPerson._unscoped.bulk_create(
            [_build_person(team_id, person) for person in sorted(missing)], ignore_conflicts=True
        )
        pseudonyms = find_pseudonyms(team_id, persons)
    for entry in entries:
        entry.subject, entry.detail = replace_ids(
            entry.subject, entry.detail, pseudonyms.__getitem__
        )


def find_pseudonyms(team_id: UUID, persons: Set[str]) -> dict[str, str]:
    """Return the pseudonyms of those persons whom the audit trail knows."""
    if not persons:
        return {}
    rows = AuditPerson._unscoped.filter(team_id=team_id, person__in=persons)
    return dict(rows.values_list("person", "pseudonym"))


def make_unlinked_pseudonym(person: str) -> str:
    """Return a pseudonym whose key isn't stored, so that it can't be linked to a person."""
    return _compute_pseudonym(secrets.token_bytes(32), person)


def _build_person(team_id: UUID, person: str) -> AuditPerson:
    secret = secrets.token_bytes(32)
    pseudonym = _compute_pseudonym(secret, person)
    return AuditPerson(team_id=team_id, person=person, secret=secret, pseudonym=pseudonym)


def _compute_pseudonym(secret: bytes, person: str) -> str:
    digest = hmac.new(secret, person.encode(), hashlib.sha256).digest()
    return f"~{base64.b32encode(digest).decode().lower()[:26]}"
