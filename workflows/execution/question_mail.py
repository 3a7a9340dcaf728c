"""Mails the link of a question to the addresses that its node names, when the run pauses.

A mail is sent before the pause is written and noted at the question afterwards, so that a worker that is lost in between
sends it again rather than never. A mail that fails is logged, and never fails the run.
"""

import logging
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage, get_connection
from django.core.validators import validate_email
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts import audit
from accounts.tenancy import tenant
from workflows.engine.nodes.control.human_input import URL_PLACE, list_mail_addresses
from workflows.execution.wait_links import sign_wait
from workflows.models import RunWait


log = logging.getLogger(__name__)

CONSOLE: Final = "django.core.mail.backends.console.EmailBackend"
MAILED: Final = "mailed"  # in the form of a question: how many addresses have got it
MAX_SECONDS: Final = 20  # for the connection to the mail server
MAX_SUBJECT: Final = 200  # characters
MAX_BODY: Final = 20_000
_PLACE: Final = re.compile(r"\{\{#\$output\.\w+#\}\}")


def is_mail_configured() -> bool:
    """Return whether the operator has set up a mail server, and the address of this one for links."""
    return settings.EMAIL_BACKEND != CONSOLE and bool(settings.PUBLIC_URL)


def has_mail(forms: Iterable[Mapping[str, Any] | None]) -> bool:
    return any(list_mail_addresses(form.get("deliveries") or ()) for form in forms if form)


def mail_questions(team_id: UUID, run_id: UUID) -> None:
    """Mail the open questions of a run that have not been mailed yet."""
    if not is_mail_configured():
        return
    with tenant([team_id]):
        rows = RunWait.objects.unscoped().filter(run_id=run_id, answered_at=None)
        waits = list(rows.filter(form__isnull=False).order_by("created_at", "id"))
    for wait in waits:
        form = wait.form or {}
        addresses = list_mail_addresses(form.get("deliveries") or ())
        if not addresses or form.get(MAILED):
            continue
        sent = _send(wait, addresses)
        _record(wait, sent, len(addresses))


def _send(wait: RunWait, addresses: Iterable[str]) -> int:
    """Send one mail to each address, so that nobody learns the others. Return how many were accepted."""
    subject, body = _build_text(wait)
    sent = 0
    connection = get_connection(timeout=MAX_SECONDS)
    for address in addresses:
        try:
            validate_email(address)
            # The errors of smtplib are OSErrors.
            sent += EmailMessage(subject, body, to=[address], connection=connection).send()
        except (ValidationError, OSError) as error:
            log.warning(
                "question_not_mailed", extra={"wait": str(wait.pk), "why": type(error).__name__}
            )
    return sent


def _build_text(wait: RunWait) -> tuple[str, str]:
    form = wait.form or {}
    url = f"{(settings.PUBLIC_URL or '').rstrip('/')}{reverse('workflows:answer', args=[sign_wait(wait.team_id, wait.pk)])}"
    methods = form.get("deliveries") or ()
    config: Mapping[str, Any] = next((m["config"] for m in methods if list_mail_addresses([m])), {})
    subject = " ".join(str(config.get("subject") or _("Your answer is needed")).split())
    body = str(config.get("body") or "") or _PLACE.sub("", str(form.get("content") or ""))
    body = body[:MAX_BODY]
    if URL_PLACE not in body:
        body = f"{body}\n\n{URL_PLACE}"
    return subject[:MAX_SUBJECT], body.replace(URL_PLACE, url)


def _record(wait: RunWait, sent: int, asked: int) -> None:
    """Note at the question that it was mailed, and record it without the addresses."""
    with tenant([wait.team_id]):
        if sent:
            form = {**(wait.form or {}), MAILED: sent}
            RunWait.objects.unscoped().filter(pk=wait.pk).update(form=form)
        audit.record(
            team_id=wait.team_id,
            actor=f"run:{wait.run_id}",
            actor_kind="system",
            action="run.question_mailed",
            subject=f"run:{wait.run_id}",
            detail={"node": wait.node_key, "sent": sent, "addresses": asked},
        )
