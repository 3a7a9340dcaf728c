"""Mails questions when a run pauses: to the people whom a node names, and to those who decide about a lost call.

A mail is sent before the pause is written and noted at the question afterwards, so that a worker that is lost in between
sends it again rather than never. A mail that fails is logged, and never fails the run.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from enum import Enum
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db.models.fields.json import KeyTextTransform
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import override

from accounts import audit
from accounts.mail import Mail, build_public_url, is_mail_configured, send_mails
from accounts.models import User
from accounts.principals import UserPrincipal
from accounts.services.holders import Holder, load_principals
from accounts.tenancy import tenant
from workflows import permissions
from workflows.engine.answerers import EMAIL, LINK, MEMBER, RUNNER, list_values
from workflows.engine.nodes.control.human_input import URL_PLACE, list_mail_addresses
from workflows.engine.runtime.waits import UNCERTAIN, is_uncertain
from workflows.execution.questions.links import sign_wait
from workflows.execution.questions.people import list_asked_addresses, list_asked_members
from workflows.models import Run, RunWait
from workflows.models.run import ENDED


MAILED: Final = "mailed"  # in the form of a question: how many addresses have got it
MAX_BODY: Final = 20_000
MAIL_PAUSE: Final = timedelta(minutes=10)  # between two mails to a person about lost calls
_PLACE: Final = re.compile(r"\{\{#\$output\.\w+#\}\}")


class Notice(Enum):
    """Why a question is mailed."""

    QUESTION = "question"  # it was asked just now
    REMINDER = "reminder"  # nobody has answered for a while
    ESCALATION = "escalation"  # others may answer, too


def has_mail(forms: Iterable[Mapping[str, Any] | None]) -> bool:
    return any(
        is_uncertain(form)
        or list_mail_addresses(form.get("deliveries") or ())
        or not {RUNNER, LINK}.issuperset(form.get("answerers") or ())
        for form in forms
        if form
    )


def mail_questions(team_id: UUID, run_id: UUID) -> None:
    """Mail the open questions of a run that have not been mailed yet."""
    if not is_mail_configured():
        return
    with tenant([team_id]):
        rows = RunWait.objects.unscoped().filter(run_id=run_id, answered_at=None)
        waits = list(rows.filter(form__isnull=False).order_by("created_at", "id"))
    for wait in waits:
        form = wait.form or {}
        if form.get(MAILED):
            continue
        mails = _build_decision_mails(wait) if is_uncertain(form) else _build_question_mails(wait)
        if mails:
            _record(wait, send_mails(mails, about=f"question {wait.pk}"), len(mails))


def mail_notice(wait: RunWait, notice: Notice, keys: Iterable[str] | None = None) -> int:
    """Mail an open question once more, to all whom it asks or to those behind the keys. Return how many mails were sent."""
    mails = _build_question_mails(wait, notice, keys) if is_mail_configured() else []
    return send_mails(mails, about=f"question {wait.pk}")


def _build_question_mails(
    wait: RunWait, notice: Notice = Notice.QUESTION, keys: Iterable[str] | None = None
) -> list[Mail]:
    """Return a mail to each member and each address that the question asks, or that the keys name."""
    addresses = list_asked_addresses(wait) if keys is None else list_values(keys, EMAIL)
    with tenant([wait.team_id]):
        run = Run.objects.unscoped().select_related("workflow").get(pk=wait.run_id)
        asked = [*wait.answerers] if keys is None else [*keys]
        if notice is Notice.REMINDER and wait.admits_runner:
            # At first they saw the question where they ran the workflow.
            people = (run.started_by_id, run.subject_user_id)
            asked += [f"{MEMBER}{user_id}" for user_id in people if user_id]
        members = list_asked_members(wait.team_id, asked)
    name = run.workflow.name
    known = {user.email for user in members}
    return [
        *(_build_member_mail(wait, user, name, notice) for user in members),
        *(_build_address_mail(wait, each, notice) for each in addresses if each not in known),
    ]


def _build_member_mail(wait: RunWait, user: User, workflow: str, notice: Notice) -> Mail:
    """Return the mail to a member, who signs in to answer."""
    with override(user.locale or settings.LANGUAGE_CODE):
        url = build_public_url("workflows:question", wait.pk)
        subject = _("Your answer is needed: %(workflow)s") % {"workflow": workflow}
        return Mail(user.email, *_write_mail(wait, subject, notice, url))


def _build_address_mail(wait: RunWait, address: str, notice: Notice) -> Mail:
    """Return the mail to somebody without an account. Its link is theirs alone, and it says nothing but the question."""
    token = sign_wait(wait.team_id, wait.pk, address)
    url = build_public_url("workflows:answer", token)
    return Mail(address, *_write_mail(wait, _("Your answer is needed"), notice, url))


def _write_mail(wait: RunWait, subject: str, notice: Notice, url: str) -> tuple[str, str]:
    """Return the subject and the text of a mail: those of the node's delivery, or else the given one and the message."""
    form = wait.form or {}
    methods = form.get("deliveries") or ()
    config: Mapping[str, Any] = next((m["config"] for m in methods if list_mail_addresses([m])), {})
    subject = str(config.get("subject") or subject)
    body = str(config.get("body") or "") or _PLACE.sub("", str(form.get("content") or ""))
    body = body[:MAX_BODY]
    if URL_PLACE not in body:
        body = f"{body}\n\n{URL_PLACE}"
    body = body.replace(URL_PLACE, url)
    if notice is Notice.REMINDER:
        return _("Reminder: %(subject)s") % {"subject": subject}, body
    if notice is Notice.ESCALATION:
        return subject, "\n\n".join((_("Nobody has answered this question so far."), body))
    return subject, body


def _build_decision_mails(wait: RunWait) -> list[Mail]:
    """Return a mail to each person who may decide about a lost call and had none about another open one just now.

    A server that is lost may leave many of them. Each mail has the link to all.
    """
    with tenant([wait.team_id]):
        rows = Run.objects.unscoped().select_related("workflow", "api_key")
        run = rows.get(pk=wait.run_id)
        people = [each for each in _list_deciders(run) if not _was_mailed(each)]
    return [_build_decision_mail(wait, run, each.user) for each in people]


def _list_deciders(run: Run) -> list[UserPrincipal]:
    ids = {run.started_by_id, run.subject_user_id, run.api_key and run.api_key.created_by_id}
    principals = load_principals([Holder(each) for each in ids if each]).values()
    return [
        each
        for each in principals
        if isinstance(each, UserPrincipal)
        and permissions.may_answer(each, run)
        and permissions.may_cancel(each, run)
    ]


def _was_mailed(person: UserPrincipal) -> bool:
    runs = Run.objects.visible_to(person).exclude(status__in=ENDED)
    since = timezone.now() - MAIL_PAUSE
    waits = RunWait.objects.unscoped().filter(answered_at=None, created_at__gte=since, run__in=runs)
    return (
        waits.alias(type=KeyTextTransform("type", "form"), mailed=KeyTextTransform(MAILED, "form"))
        .filter(type=UNCERTAIN, mailed__isnull=False)
        .exists()
    )


def _build_decision_mail(wait: RunWait, run: Run, user: User) -> Mail:
    names = {"node": str((wait.form or {}).get("node")), "workflow": run.workflow.name}
    with override(user.locale or settings.LANGUAGE_CODE):
        subject = _("Your decision is needed: %(workflow)s") % names
        paragraphs = (
            _(
                "The server stopped while “%(node)s” of “%(workflow)s” called a service. Nobody knows whether the call"
                " arrived. The run waits until you choose: It happened, Call again, or Stop the run."
            )
            % names,
            build_public_url("workflows:run", run.pk),
            _("Everything that waits for you:"),
            build_public_url("workflows:waiting"),
        )
    return Mail(user.email, subject, "\n\n".join(map(str, paragraphs)))


def _record(wait: RunWait, sent: int, address_count: int) -> None:
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
            detail={"node": wait.node_key, "sent": sent, "addresses": address_count},
        )
