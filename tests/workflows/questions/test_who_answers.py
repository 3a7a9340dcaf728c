"""Who a question asks: the runner, a member, a group, a role. Whoever it doesn't ask finds nothing."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.errors import NotFound
from accounts.models import Membership
from accounts.services import remove_from_group
from accounts.tenancy import tenant
from tests.factories.workflows import make_conversation, make_workflow
from tests.support.cast import Cast, Person, make_key
from tests.workflows.questions.asking import ask_people, list_inbox, load, make_group, pay
from workflows.engine.answerers import Answerer
from workflows.engine.nodes.agent.tool_use.approval import AskedCall, build_form
from workflows.errors import WaitClosed
from workflows.models import Run, RunWait
from workflows.services.runs import waits


pytestmark = pytest.mark.django_db

Keys = Callable[[Cast], tuple[str, ...]]

# What a question of Bob's run asks → the members of the team who may answer. Vic is a viewer, Bob an editor, Ada an admin, and
# Alice owns the team.
ASKED: list[tuple[Keys, set[str]]] = [
    (lambda cast: (), {"bob"}),
    (lambda cast: ("runner",), {"bob"}),
    (lambda cast: ("link",), {"bob"}),
    (lambda cast: (f"user:{cast.vic.user.pk}",), {"vic"}),
    (lambda cast: (f"user:{cast.vic.user.pk}", "runner"), {"vic", "bob"}),
    (lambda cast: ("role:admin",), {"ada", "alice"}),
    (lambda cast: ("role:owner",), {"alice"}),
    (lambda cast: ("role:viewer",), {"alice", "ada", "bob", "vic"}),
    (lambda cast: (f"group:{make_group(cast.alice, 'Desk', cast.vic, cast.ada).pk}",), {"vic", "ada"}),
    (lambda cast: (f"user:{cast.carol.user.pk}",), set()),
    (lambda cast: ("email:vic@example.org",), set()),
    (lambda cast: ("role:king", "group:none", "user:"), set()),
]  # fmt: skip


@pytest.mark.parametrize(("keys", "expected"), ASKED)
def test_those_whom_a_question_asks_see_and_answer_it_and_for_the_others_it_is_not_there(
    cast: Cast, keys: Keys, expected: set[str]
) -> None:
    asked = keys(cast)
    wait = ask_people(cast.bob, *asked)

    inboxes = {name for name, person in cast.people.items() if wait in list_inbox(person)}
    refusals = {
        name: answer_on_page(cast.people[name], wait) for name in cast.people.keys() - expected
    }
    assert inboxes == expected
    assert set(refusals.values()) <= {404}, refusals
    assert load(wait).answered_at is None

    for name in expected:
        other = ask_people(cast.bob, *asked)
        assert answer_on_page(cast.people[name], other) == 302, name
        assert load(other).answered_at is not None, name


def answer_on_page(person: Person, wait: RunWait) -> int:
    """Answer it as the person's browser does, and return the status."""
    url = reverse("workflows:answer_wait", args=[wait.run_id, wait.pk])
    return int(person.client.post(url, {"comment": "ok", "-action": "pay"}).status_code)


def test_approval_of_a_call_is_given_by_those_whom_the_agent_names(cast: Cast) -> None:
    form: Any = build_form(AskedCall("send", {"to": "ana"}), [Answerer(type="role", value="admin")])
    wait = ask_people(cast.bob, *form["answerers"], form=form)
    url = reverse("workflows:answer_wait", args=[wait.run_id, wait.pk])

    refused = cast.bob.client.post(url, {"comment": "", "-action": "allow"})
    allowed = cast.ada.client.post(url, {"comment": "", "-action": "allow"})

    assert [refused.status_code, allowed.status_code] == [404, 302]
    row = load(wait)
    assert (row.action, row.answered_by) == ("allow", f"user:{cast.ada.user.pk}")


def test_badge_counts_what_asks_a_person(cast: Cast) -> None:
    ask_people(cast.bob, f"user:{cast.vic.user.pk}")
    url = reverse("workflows:waiting_count")

    counts = {name: cast.people[name].client.get(url).context["count"] for name in ("vic", "bob")}

    assert counts == {"vic": 1, "bob": 0}


def test_person_who_is_asked_sees_the_question_and_nothing_else_of_the_run(cast: Cast) -> None:
    wait = ask_people(cast.bob, f"user:{cast.vic.user.pk}", inputs={"text": "a private input"})

    page = cast.vic.client.get(reverse("workflows:question", args=[wait.pk]))
    inbox = cast.vic.client.get(reverse("workflows:waiting"))
    run = cast.vic.client.get(reverse("workflows:run", args=[wait.run_id]))

    assert (page.status_code, inbox.status_code, run.status_code) == (200, 200, 404)
    for shown in (page.content.decode(), inbox.content.decode()):
        assert "Pay 300 euros?" in shown
        assert "asked by Bob" in shown
        assert "a private input" not in shown
        assert str(wait.run_id) not in shown.replace(
            reverse("workflows:answer_wait", args=[wait.run_id, wait.pk]), ""
        )


def test_person_who_runs_it_sees_whom_it_waits_for_and_can_not_answer(cast: Cast) -> None:
    wait = ask_people(cast.bob, f"user:{cast.vic.user.pk}", "role:owner")

    page = cast.bob.client.get(reverse("workflows:run", args=[wait.run_id])).content.decode()

    assert "This question is for: Vic, Owner" in page
    assert 'name="-action"' not in page
    assert "/answer/" not in page


def test_page_of_the_run_tells_who_answered(cast: Cast) -> None:
    wait = ask_people(cast.bob, f"user:{cast.vic.user.pk}")
    pay(cast.vic, wait)

    page = cast.bob.client.get(reverse("workflows:run", args=[wait.run_id])).content.decode()

    assert "ask: Pay" in page
    assert "Answered by Vic" in page


def test_second_of_two_people_is_told_who_was_faster(cast: Cast) -> None:
    wait = ask_people(cast.bob, "role:admin")
    url = reverse("workflows:answer_wait", args=[wait.run_id, wait.pk])
    pay(cast.ada, wait)

    with pytest.raises(WaitClosed, match="already been answered by Ada"):
        pay(cast.alice, wait, "refuse")
    shown = cast.alice.client.post(
        url, {"comment": "no", "-action": "refuse"}, headers={"HX-Request": "1"}
    )

    assert "Answered by Ada." in shown.content.decode()
    assert (load(wait).action, load(wait).answered_by) == ("pay", f"user:{cast.ada.user.pk}")


def test_api_tells_whom_a_question_asks_and_who_answered(cast: Cast) -> None:
    wait = ask_people(cast.bob, f"user:{cast.vic.user.pk}")
    url = f"/api/v1/runs/{wait.run_id}/waits"
    body = {"values": {"comment": "ok"}, "action": "pay"}

    (to_vic,) = cast.vic.client.get("/api/v1/waits").json()["items"]
    (to_bob,) = cast.bob.client.get(url).json()["items"]
    refused = cast.bob.client.post(f"{url}/{wait.pk}", body, content_type="application/json")
    answered = cast.vic.client.post(f"{url}/{wait.pk}", body, content_type="application/json")
    again = cast.vic.client.post(f"{url}/{wait.pk}", body, content_type="application/json")

    assert (to_vic["can_answer"], to_vic["link"]) == (True, None)
    assert (to_bob["can_answer"], to_bob["link"]) == (False, None)
    assert to_bob["answerers"] == [f"user:{cast.vic.user.pk}"]
    assert (refused.status_code, answered.status_code, again.status_code) == (404, 200, 409)
    assert answered.json()["answered_by_name"] == "Vic"
    assert "already been answered by Vic" in again.json()["error"]["message"]


def test_key_that_started_the_run_answers_only_what_asks_the_runner(cast: Cast) -> None:
    key, secret = make_key(cast, cast.alice)
    mine = ask_people(cast.alice, api_key=key)
    another = ask_people(cast.alice, "role:owner", api_key=key)
    client = Client(headers={"Authorization": f"Bearer {secret}"})

    statuses = [
        client.post(
            f"/api/v1/runs/{wait.run_id}/waits/{wait.pk}",
            {"values": {}, "action": "pay"},
            content_type="application/json",
        ).status_code
        for wait in (mine, another)
    ]

    assert statuses == [200, 404]


def leave_team(cast: Cast) -> None:
    with tenant([cast.team_a.pk]):
        Membership.objects.unscoped().filter(user=cast.vic.user).delete()


def leave_group(cast: Cast) -> None:
    with tenant([cast.team_a.pk]):
        group = cast.vic.user.groups.get().of_team
    remove_from_group(cast.alice.principal, group_id=group.pk, user_id=cast.vic.user.pk)


@pytest.mark.parametrize("leave", [leave_team, leave_group])
def test_person_who_left_is_not_asked_any_more(cast: Cast, leave: Callable[[Cast], None]) -> None:
    group = make_group(cast.alice, "Desk", cast.vic)
    wait = ask_people(cast.bob, f"group:{group.pk}")
    leave(cast)

    with pytest.raises(NotFound):
        pay(cast.vic, wait)
    assert list_inbox(cast.vic) == []


def test_message_in_a_chat_answers_no_question_for_somebody_else(cast: Cast) -> None:
    workflow = make_workflow(cast.bob)
    conversation = make_conversation(cast.bob, workflow)
    form: Any = {"actions": []}
    wait = ask_people(
        cast.bob,
        f"user:{cast.vic.user.pk}",
        form=form,
        workflow=workflow,
        conversation=conversation,
        subject=str(cast.bob.user.pk),
        subject_user=cast.bob.user,
    )

    with tenant([cast.team_a.pk]):
        run: Run | None = waits.answer_with_message(
            cast.bob.principal, workflow=workflow, conversation=conversation.key, message="yes"
        )
        stored = RunWait.objects.unscoped().get(pk=wait.pk)

    assert run is None
    assert stored.answered_at is None


def test_inbox_takes_as_many_queries_for_three_questions_as_for_one(cast: Cast) -> None:
    client, url = cast.vic.client, reverse("workflows:waiting")
    ask_people(cast.bob, f"user:{cast.vic.user.pk}")
    client.get(url)

    counted = count_queries(lambda: client.get(url))
    for _number in range(2):
        ask_people(cast.bob, f"user:{cast.vic.user.pk}")

    assert count_queries(lambda: client.get(url)) == counted


def count_queries(act: Callable[[], object]) -> int:
    with CaptureQueriesContext(connection) as captured:
        act()
    return len(captured)
