"""Reminders and escalations: each question once, at its time, and only while it is open."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core import mail
from django.urls import reverse

from accounts.models import AuditEntry
from accounts.tenancy import tenant
from tests.support.cast import Cast
from tests.workflows.questions.asking import ask_people, list_inbox, load, pay
from workflows.execution.timers import list_plugged_work
from workflows.models import Run, RunWait
from workflows.services.questions import reminders
from workflows.services.questions.periodic import NOTICES
from workflows.services.questions.reminders import give_due_notices
from workflows.tasks import BEAT_SCHEDULE, GIVE_NOTICES_TASK


pytestmark = pytest.mark.django_db

DUE = datetime(2031, 3, 3, 8, 0, tzinfo=UTC)
EARLY = DUE - timedelta(seconds=1)
LATER = DUE + timedelta(days=1)


@pytest.fixture(autouse=True)
def address(settings: Any) -> None:
    settings.PUBLIC_URL = "https://flow.example.com/"


def ask_vic(cast: Cast, **given: Any) -> RunWait:
    return ask_people(cast.bob, f"user:{cast.vic.user.pk}", "email:boss@example.com", **given)


def escalate_to_ada(cast: Cast, *keys: str) -> RunWait:
    form = {"escalate_after": 3600, "escalate_to": [f"user:{cast.ada.user.pk}"]}
    return ask_people(cast.bob, *keys, form=form, escalate_at=DUE)


def list_actions(cast: Cast) -> list[str]:
    with tenant([cast.team_a.pk]):
        rows = AuditEntry.objects.unscoped().filter(action__startswith="run.question_")
        return list(rows.order_by("seq").values_list("action", flat=True))


def test_reminder_is_mailed_once_at_its_time_to_those_who_are_asked(cast: Cast) -> None:
    wait = ask_vic(cast, remind_at=DUE)

    given = [give_due_notices(EARLY), give_due_notices(DUE), give_due_notices(LATER)]

    to_boss, to_vic = sorted(mail.outbox, key=lambda message: message.to)
    assert given == [0, 1, 0]
    assert (to_boss.to, to_vic.to) == (["boss@example.com"], [cast.vic.user.email])
    assert to_vic.subject == "Reminder: Your answer is needed: Echo"
    url = reverse("workflows:question", args=[wait.pk])
    assert str(to_vic.body).endswith(f"https://flow.example.com{url}")
    assert "/answer/" in str(to_boss.body)
    assert list_actions(cast) == ["run.question_reminded"]
    assert load(wait).remind_at is None


def test_reminder_of_a_question_without_rows_goes_to_whoever_runs_it(cast: Cast) -> None:
    ask_people(cast.bob, remind_at=DUE)

    give_due_notices(DUE)

    assert [message.to for message in mail.outbox] == [[cast.bob.user.email]]


def test_escalation_lets_more_people_answer_and_tells_only_them(cast: Cast) -> None:
    wait = escalate_to_ada(cast, f"user:{cast.vic.user.pk}")
    before = list_inbox(cast.ada)

    given = [give_due_notices(EARLY), give_due_notices(DUE), give_due_notices(LATER)]

    assert (before, given) == ([], [0, 1, 0])
    assert [wait.pk for wait in list_inbox(cast.ada)] == [wait.pk]
    assert [wait.pk for wait in list_inbox(cast.vic)] == [wait.pk]
    (message,) = mail.outbox
    assert message.to == [cast.ada.user.email]
    assert str(message.body).startswith("Nobody has answered this question so far.")
    assert list_actions(cast) == ["run.question_escalated"]
    pay(cast.ada, load(wait))
    assert load(wait).answered_by == f"user:{cast.ada.user.pk}"


def test_escalation_leaves_the_question_to_whoever_runs_it_too(cast: Cast) -> None:
    wait = escalate_to_ada(cast)

    give_due_notices(DUE)

    assert load(wait).answerers == ["runner", "link", f"user:{cast.ada.user.pk}"]
    assert [wait.pk for wait in list_inbox(cast.bob)] == [wait.pk]


def test_escalation_without_a_mail_server_is_in_the_inbox(cast: Cast, settings: Any) -> None:
    settings.PUBLIC_URL = None
    wait = escalate_to_ada(cast, f"user:{cast.vic.user.pk}")

    give_due_notices(DUE)

    assert mail.outbox == []
    assert [wait.pk for wait in list_inbox(cast.ada)] == [wait.pk]


@pytest.mark.parametrize("end", ["answer", "time", "run"])
def test_closed_question_is_neither_reminded_of_nor_escalated(cast: Cast, end: str) -> None:
    wait = ask_vic(cast, remind_at=DUE, escalate_at=DUE, due_at=EARLY if end == "time" else None)
    if end == "answer":
        pay(cast.vic, wait)
    elif end == "run":
        with tenant([wait.team_id]):
            runs = Run.objects.unscoped().filter(pk=wait.run_id)
            runs.update(status="stopped", finished_at=DUE)

    given = give_due_notices(DUE)

    assert (given, mail.outbox) == (0, [])
    assert (load(wait).remind_at, load(wait).escalate_at) == (None, None)


def test_notice_of_a_worker_that_died_is_given_again(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask_vic(cast, remind_at=DUE)

    def die(*_: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(reminders, "mail_notice", die)
        with pytest.raises(KeyboardInterrupt):
            give_due_notices(DUE)
    given = [give_due_notices(DUE), give_due_notices(LATER)]

    assert given == [0, 1]
    assert len(mail.outbox) == 2


def test_error_with_one_question_keeps_no_other_waiting(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, other = ask_vic(cast, remind_at=EARLY), ask_vic(cast, remind_at=DUE)
    send = reminders.mail_notice

    def fail_once(wait: RunWait, *given: Any) -> int:
        if wait.pk == broken.pk:
            raise RuntimeError
        return send(wait, *given)

    monkeypatch.setattr(reminders, "mail_notice", fail_once)

    assert give_due_notices(DUE) == 1
    assert load(other).remind_at is None


def test_workers_and_beat_give_notices() -> None:
    assert NOTICES in list_plugged_work()
    assert BEAT_SCHEDULE["workflows-give-notices"]["task"] == GIVE_NOTICES_TASK
