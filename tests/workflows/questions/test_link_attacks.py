"""Attacks on links to questions: guessed, changed, used again, used after their end, and used for another question."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core import signing
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import AuditEntry
from accounts.tenancy import tenant
from config.ids import uuid7
from tests.support.cast import Cast
from tests.workflows.questions.asking import ask_people, load, pay
from workflows.engine.runtime.waits import build_uncertain_form
from workflows.execution.questions.links import sign_wait
from workflows.models import Run, RunWait
from workflows.services.editor.drafts import archive


pytestmark = pytest.mark.django_db

ANSWER = {"comment": "I was never asked", "-action": "pay"}
ADDRESS = "boss@example.com"


def make_url(wait: RunWait, address: str = "") -> str:
    return reverse("workflows:answer", args=[sign_wait(wait.team_id, wait.pk, address)])


def flip(token: str, index: int) -> str:
    other = "A" if token[index] != "A" else "B"
    return f"{token[:index]}{other}{token[index + 1 :]}"


def guess_ids(wait: RunWait) -> str:
    return f"{wait.team_id.hex}.{wait.pk.hex}"


def sign_with_another_key(wait: RunWait) -> str:
    return signing.dumps([wait.team_id.hex, wait.pk.hex], key="guessed", salt="workflows.wait")


def sign_with_another_salt(wait: RunWait) -> str:
    return signing.dumps([wait.team_id.hex, wait.pk.hex], salt="workflows.page")


def change_the_payload(wait: RunWait) -> str:
    return flip(sign_wait(wait.team_id, wait.pk), 3)


def change_the_signature(wait: RunWait) -> str:
    return flip(sign_wait(wait.team_id, wait.pk), -3)


def move_the_signature(wait: RunWait) -> str:
    """The signature of a link that the attacker has, with the ids of another question."""
    own = sign_wait(wait.team_id, uuid7()).split(":", 1)[1]
    return f"{sign_wait(wait.team_id, wait.pk).split(':', 1)[0]}:{own}"


def sign_another_team(wait: RunWait) -> str:
    return sign_wait(uuid7(), wait.pk)


def sign_an_address_that_is_not_asked(wait: RunWait) -> str:
    return sign_wait(wait.team_id, wait.pk, "stranger@example.com")


@pytest.mark.parametrize(
    "forge",
    [
        *(guess_ids, sign_with_another_key, sign_with_another_salt, change_the_payload),
        *(change_the_signature, move_the_signature, sign_another_team),
        sign_an_address_that_is_not_asked,
    ],
)
def test_forged_link_leads_nowhere(cast: Cast, forge: Callable[[RunWait], str]) -> None:
    wait = ask_people(cast.alice)
    url = reverse("workflows:answer", args=[forge(wait)])

    statuses = [Client().get(url).status_code, Client().post(url, ANSWER).status_code]

    assert statuses == [404, 404]
    assert load(wait).answered_at is None


def test_link_is_used_once(cast: Cast) -> None:
    wait = ask_people(cast.alice)
    url = make_url(wait)
    Client().post(url, {"comment": "mine", "-action": "refuse"})

    replayed = Client().post(url, ANSWER)

    stored = load(wait)
    assert (stored.action, stored.values) == ("refuse", {"comment": "mine"})
    assert (replayed.status_code, Client().get(url).status_code) == (409, 200)
    assert "This has been answered" in replayed.content.decode()
    assert "mine" not in replayed.content.decode()


def answer_as_member(cast: Cast, wait: RunWait) -> None:
    pay(cast.alice, wait, "refuse")


def pass_its_time(cast: Cast, wait: RunWait) -> None:
    with tenant([wait.team_id]):
        late = timezone.now() - timedelta(seconds=1)
        RunWait.objects.unscoped().filter(pk=wait.pk).update(due_at=late)


def end_the_run(cast: Cast, wait: RunWait) -> None:
    with tenant([wait.team_id]):
        Run.objects.unscoped().filter(pk=wait.run_id).update(
            status="stopped", finished_at=timezone.now()
        )


def archive_the_workflow(cast: Cast, wait: RunWait) -> None:
    archive(cast.alice.principal, workflow=wait.run.workflow)


@pytest.mark.parametrize(
    "end", [answer_as_member, pass_its_time, end_the_run, archive_the_workflow]
)
@pytest.mark.parametrize("address", ["", ADDRESS])
def test_link_ends_with_its_question(
    cast: Cast, end: Callable[[Cast, RunWait], None], address: str
) -> None:
    wait = ask_people(cast.alice, "runner", "link", f"email:{ADDRESS}")
    url = make_url(wait, address)
    end(cast, wait)
    before = load(wait)

    page = Client().get(url).content.decode()
    late = Client().post(url, ANSWER)

    after = load(wait)
    assert late.status_code in (404, 409)
    assert "Pay 300 euros?" not in page
    assert 'name="-action"' not in page
    assert (after.action, after.values, after.answered_by) == (
        before.action,
        before.values,
        before.answered_by,
    )


@pytest.mark.parametrize("keys", [("runner",), ("role:admin",), (f"email:{ADDRESS}",)])
def test_link_for_anybody_works_only_where_the_question_admits_it(
    cast: Cast, keys: tuple[str, ...]
) -> None:
    wait = ask_people(cast.alice, *keys)

    statuses = [
        Client().get(make_url(wait)).status_code,
        Client().post(make_url(wait), ANSWER).status_code,
    ]

    assert statuses == [404, 404]


def test_link_of_an_address_records_whose_answer_it_is_and_the_trail_does_not(cast: Cast) -> None:
    wait = ask_people(cast.alice, f"email:{ADDRESS}")

    page = Client().post(make_url(wait, ADDRESS), {"comment": "ok", "-action": "pay"})

    assert "Your answer has been sent" in page.content.decode()
    assert load(wait).answered_by == f"email:{ADDRESS}"
    with tenant([wait.team_id]):
        (entry,) = AuditEntry.objects.unscoped().filter(action="run.answered")
    assert entry.actor == "link"
    assert ADDRESS not in str(entry.detail)


def test_link_tells_nobody_who_was_faster(cast: Cast) -> None:
    wait = ask_people(cast.alice, "runner", "link")
    pay(cast.alice, wait)

    page = Client().post(make_url(wait), ANSWER).content.decode()

    assert "This has been answered." in page
    assert "Alice" not in page


def test_lost_call_has_no_link(cast: Cast) -> None:
    form: Any = build_uncertain_form("Order", {}, can_have_happened=True)
    wait = ask_people(cast.alice)
    with tenant([wait.team_id]):
        RunWait.objects.unscoped().filter(pk=wait.pk).update(form=form)

    assert Client().get(make_url(wait)).status_code == 404
