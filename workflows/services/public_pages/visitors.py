"""Visitors of public pages: their signed tickets, and the principal that acts for them.

A ticket names one visitor of one page. A browser keeps it in a cookie; the bubble, whose cookies a browser would not send
from another site, keeps it in the storage of its frame and sends it as a header.
"""

import secrets
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.contrib.auth.hashers import check_password
from django.core import signing
from django.utils.crypto import constant_time_compare, salted_hmac

from accounts.errors import NotFound
from accounts.personas import make_visitor_subject
from accounts.principals import KeyPrincipal
from accounts.tenancy import lookup, tenant
from workflows.models import PageAccess, PublicPage


_SALT: Final = "mnemoflow.visitors"
_STREAM_SALT: Final = "mnemoflow.visitors.streams"
STREAM_SECONDS: Final = 3600  # for which the address of a run's events works
_MAX_TICKET: Final = 300  # characters
_MAX_TOKEN: Final = 64


@dataclass(frozen=True, slots=True)
class Visitor:
    """A visitor of a page. ``seal`` stands for the password that they entered, or is empty."""

    id: str
    seal: str = ""

    @property
    def subject(self) -> str:
        return make_visitor_subject(self.id)


def find_open_page(token: str) -> PublicPage:
    """Return the page with this link. Raise NotFound if there is none, or if it is off, by the same steps."""
    page = None
    if len(token) <= _MAX_TOKEN:
        with lookup(token):
            page = PublicPage.objects.unscoped().filter(token=token).first()
    if page is None or not page.is_on:
        raise NotFound
    return page


def create_visitor() -> Visitor:
    return Visitor(secrets.token_hex(16))


def build_principal(page: PublicPage, visitor: Visitor) -> KeyPrincipal:
    """Return the principal that acts for the visitor. Raise NotFound if the page's key can't be used any more."""
    with tenant([page.team_id]):
        key = page.api_key
    if not key.is_usable():
        raise NotFound
    return KeyPrincipal(key, visitor=visitor.subject)


def sign_ticket(page: PublicPage, visitor: Visitor) -> str:
    return signing.dumps([visitor.id, visitor.seal], salt=f"{_SALT}.{page.pk}")


def read_ticket(page: PublicPage, ticket: str) -> Visitor | None:
    """Return the visitor of a ticket that was signed for this page, or None for any other text."""
    if not ticket or len(ticket) > _MAX_TICKET:
        return None
    try:
        visitor_id, seal = signing.loads(ticket, salt=f"{_SALT}.{page.pk}")
    except (signing.BadSignature, ValueError, TypeError):
        return None
    return Visitor(str(visitor_id), str(seal))


def sign_stream(page: PublicPage, visitor: Visitor, run_id: UUID) -> str:
    """Return the text that opens the events of one run for a while, since an EventSource sends no header."""
    return signing.dumps([visitor.id, run_id.hex], salt=f"{_STREAM_SALT}.{page.pk}")


def read_stream(page: PublicPage, text: str, run_id: UUID) -> Visitor | None:
    """Return the visitor for whom the address of the run's events was signed lately, or None."""
    if not text or len(text) > _MAX_TICKET:
        return None
    try:
        values = signing.loads(text, salt=f"{_STREAM_SALT}.{page.pk}", max_age=STREAM_SECONDS)
        visitor_id, signed_run = values
    except (signing.BadSignature, ValueError, TypeError):
        return None
    return Visitor(str(visitor_id), _make_seal(page)) if signed_run == run_id.hex else None


def has_access(page: PublicPage, visitor: Visitor | None) -> bool:
    """Return whether the visitor has entered the page's present password, if it needs one."""
    if page.access != PageAccess.PASSWORD:
        return True
    return visitor is not None and constant_time_compare(visitor.seal, _make_seal(page))


def enter_password(page: PublicPage, visitor: Visitor, password: str) -> Visitor | None:
    """Return the visitor with the seal of the password, or None if it is wrong."""
    if not check_password(password, page.password):
        return None
    return Visitor(visitor.id, _make_seal(page))


def _make_seal(page: PublicPage) -> str:
    """Return the text that shows a right password. It changes with the password."""
    return salted_hmac(_SALT, page.password).hexdigest()[:16] if page.password else ""
