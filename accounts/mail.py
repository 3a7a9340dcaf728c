"""Send mails one by one through the operator's mail server, with links to this installation."""

import logging
from collections.abc import Iterable
from typing import Final, NamedTuple

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage, get_connection
from django.core.validators import validate_email
from django.urls import reverse

from accounts.request_transaction import without_connection


log = logging.getLogger(__name__)

CONSOLE: Final = "django.core.mail.backends.console.EmailBackend"
MAX_SECONDS: Final = 20  # for the connection to the mail server
MAX_SUBJECT: Final = 200  # characters


class Mail(NamedTuple):
    """A mail to one address."""

    address: str
    subject: str
    body: str


def is_mail_configured() -> bool:
    """Return whether the operator has set up a mail server, and the address of this one for links."""
    return settings.EMAIL_BACKEND != CONSOLE and bool(settings.PUBLIC_URL)


def build_public_url(name: str, *arguments: object) -> str:
    """Return the address of a page for people who aren't on it, by the name of its route."""
    return f"{(settings.PUBLIC_URL or '').rstrip('/')}{reverse(name, args=arguments)}"


def send_mails(mails: Iterable[Mail], *, about: str) -> int:
    """Send the mails one by one, so that nobody learns the other addresses. Return how many were accepted.

    A mail that fails is logged with what it is ``about``.
    """
    sent = 0
    connection = get_connection(timeout=MAX_SECONDS)
    for address, subject, body in mails:
        subject = " ".join(subject.split())[:MAX_SUBJECT]
        try:
            validate_email(address)
            # The errors of smtplib are OSErrors.
            message = EmailMessage(subject, body, to=[address], connection=connection)
            with without_connection(is_required=False):  # a mail server may be slow
                sent += message.send()
        except (ValidationError, OSError) as error:
            log.warning("not_mailed", extra={"about": about, "why": type(error).__name__})
    return sent
