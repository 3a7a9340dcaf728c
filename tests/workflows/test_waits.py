"""Answering what a run waits for: by its people, through the API and pages, in a chat, and with a link."""

import json
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.core import signing
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.errors import NotAllowed, NotFound
from accounts.models import AuditEntry
from accounts.tenancy import tenant
from config.http.health import WorkerNotice
from tests.factories.workflows import make_conversation, make_run, make_version, make_workflow
from tests.support.cast import Cast, Person, make_key
from tests.support.markup import markup_of
from workflows.engine.errors import InputRejected
from workflows.engine.nodes.agent.tool_use.approval import AskedCall, build_form
from workflows.errors import WaitClosed
from workflows.models import Run, RunWait
from workflows.services.questions.links import make_link_token
from workflows.services.runs import waits


pytestmark = pytest.mark.django_db

FORM = {
    "type": "form",
    "content": "Send it?\n\n{{#$output.comment#}}\n\nThen stars:",
    "inputs": [
        {"name": "comment", "type": "paragraph", "label": "Comment"},
        {"name": "stars", "type": "number", "label": "Stars"},
        {"name": "urgent", "type": "checkbox", "label": "Urgent"},
    ],
    "actions": [
        {"id": "send", "title": "Send", "style": "primary"},
        {"id": "discard", "title": "Discard", "style": "default"},
    ],
}


def ask(person: Person, form: Any = FORM, **given: Any) -> RunWait:
    """A run of this person that is paused for an answer."""
    due_at = given.pop("due_at", None)
    pause = {"nodes": ["ask"], "reason": "input", "at": timezone.now().timestamp() - 60}
    run = make_run(
        person,
        given.pop("workflow", None) or make_workflow(person),
        **{"status": "paused", "pause": pause, **given},
    )
    with tenant([run.team_id]):
        return RunWait.objects.create(
            team_id=run.team_id, run=run, node_key="ask", form=form, due_at=due_at
        )


def answer(person: Person, wait: RunWait, action: str = "send", **values: Any) -> RunWait:
    with tenant([wait.team_id]):
        return waits.answer_wait(
            person.principal, wait.run, wait_id=wait.pk, values=values, action=action
        )


def load_run(wait: RunWait) -> Run:
    with tenant([wait.team_id]):
        return Run.objects.unscoped().get(pk=wait.run_id)


def list_mine(person: Person) -> list[RunWait]:
    with tenant([person.team.pk]):
        return list(waits.list_waiting(person.principal, team_id=person.team.pk))


def actions(team_id: Any) -> list[tuple[str, str]]:
    with tenant([team_id]):
        rows = AuditEntry.objects.unscoped().filter(action="run.answered")
        return list(rows.values_list("actor", "action"))


def test_whom_questions_ask_is_looked_up_only_where_there_are_any(
    cast: Cast, django_assert_num_queries: Any
) -> None:
    """Every page counts the questions, and the query for those that ask somebody takes long to plan."""
    alice = cast.alice.principal
    with tenant([cast.team_a.pk]):
        with django_assert_num_queries(1):
            assert list(waits.list_waiting(alice)) == []
        with django_assert_num_queries(1):
            assert waits.list_waiting(alice).count() == 0
    wait = ask(cast.alice)

    assert list_mine(cast.alice) == [wait]
    assert list_mine(cast.ada) == []
    answer(cast.alice, wait)
    with tenant([cast.team_a.pk]), django_assert_num_queries(1):
        assert list(waits.list_waiting(alice)) == []


class TestAnswer:
    def test_answer_is_stored_and_queues_the_run(self, cast: Cast) -> None:
        wait = ask(cast.alice)

        answered = answer(cast.alice, wait, comment="fine", stars=4)

        run = load_run(wait)
        assert answered.values == {"comment": "fine", "stars": 4, "urgent": False}
        assert (answered.action, answered.answered_by) == ("send", f"user:{cast.alice.user.pk}")
        assert (run.status, run.last_seq) == ("queued", 1)
        assert run.pause["slept"] == pytest.approx(60, abs=5)
        with tenant([run.team_id]):
            assert [e.data["mode"] for e in run.events.filter(name="run_resumed")] == ["answer"]
        assert actions(run.team_id) == [(f"user:{cast.alice.user.pk}", "run.answered")]

    def test_person_whom_the_run_is_for_may_answer(self, cast: Cast) -> None:
        wait = ask(cast.alice, subject=str(cast.vic.user.pk), subject_user=cast.vic.user)

        answer(cast.vic, wait)

        assert load_run(wait).status == "queued"

    @pytest.mark.parametrize("name", ["ada", "bob", "carol"])
    def test_others_may_not(self, cast: Cast, name: str) -> None:
        wait = ask(cast.alice)

        with pytest.raises((NotAllowed, NotFound)):
            answer(cast.people[name], wait)
        assert load_run(wait).status == "paused"

    def test_second_answer_is_refused(self, cast: Cast) -> None:
        wait = ask(cast.alice)
        answer(cast.alice, wait)

        with pytest.raises(WaitClosed, match="already been answered"):
            answer(cast.alice, wait, "discard")

    @pytest.mark.parametrize(
        "given",
        [
            {"due_at": timezone.now() - timedelta(seconds=1)},
            {"status": "stopped", "finished_at": timezone.now()},
        ],
    )
    def test_answer_is_refused_when_it_comes_too_late(
        self, cast: Cast, given: dict[str, Any]
    ) -> None:
        wait = ask(cast.alice, **given)

        with pytest.raises(WaitClosed, match="closed"):
            answer(cast.alice, wait)

    def test_answer_that_does_not_fit_names_its_fields(self, cast: Cast) -> None:
        wait = ask(cast.alice)

        with pytest.raises(InputRejected) as rejected:
            answer(cast.alice, wait, "no", stars="many")

        assert {problem.field for problem in rejected.value.problems} == {"stars", "action"}
        assert load_run(wait).status == "paused"

    def test_running_run_is_not_touched(self, cast: Cast) -> None:
        wait = ask(cast.alice, status="running", pause=None)

        answer(cast.alice, wait)

        assert (load_run(wait).status, load_run(wait).last_seq) == ("running", 0)

    def test_run_at_a_breakpoint_stays_there(self, cast: Cast) -> None:
        pause = {"nodes": ["x"], "reason": "breakpoint", "at": 0}
        wait = ask(cast.alice, pause=pause, debug={"breakpoints": ["x"]})

        answer(cast.alice, wait)

        assert load_run(wait).status == "paused"


class TestList:
    def test_open_questions_of_own_runs_are_listed(self, cast: Cast) -> None:
        mine = ask(cast.alice)
        for_me = ask(cast.bob, subject=str(cast.alice.user.pk), subject_user=cast.alice.user)
        ask(cast.bob)
        ask(cast.alice, status="failed", finished_at=timezone.now())
        ask(cast.alice, due_at=timezone.now() - timedelta(hours=1))
        answer(cast.alice, ask(cast.alice))
        ask(cast.alice, form=None)

        assert {wait.pk for wait in list_mine(cast.alice)} == {mine.pk, for_me.pk}
        assert list_mine(cast.carol) == []


class TestApi:
    def test_key_with_the_scope_lists_and_answers(self, cast: Cast) -> None:
        key, secret = make_key(cast, cast.alice)
        wait = ask(cast.alice, api_key=key)
        client = Client(headers={"Authorization": f"Bearer {secret}"})
        url = f"/api/v1/runs/{wait.run_id}/waits"

        (listed,) = client.get(url).json()["items"]
        refused = client.post(
            f"{url}/{wait.pk}",
            json.dumps({"values": {"stars": "x"}, "action": "send"}),
            content_type="application/json",
        )
        answered = client.post(
            f"{url}/{wait.pk}",
            json.dumps({"values": {"comment": "ok"}, "action": "discard"}),
            content_type="application/json",
        )
        again = client.post(f"{url}/{wait.pk}", "{}", content_type="application/json")

        assert (listed["status"], listed["type"], listed["node"]) == ("open", "form", "ask")
        assert listed["link"].startswith("/answer/")
        assert refused.status_code == 422
        assert refused.json()["error"]["problems"][0]["field"] == "stars"
        assert (answered.status_code, answered.json()["status"]) == (200, "answered")
        assert answered.json()["values"] == {"comment": "ok", "stars": None, "urgent": False}
        assert again.status_code == 409

    def test_waiting_list_has_the_runs_of_the_caller(self, cast: Cast) -> None:
        wait = ask(cast.alice)
        ask(cast.bob)

        page = cast.alice.client.get("/api/v1/waits").json()

        assert (page["count"], [item["id"] for item in page["items"]]) == (1, [str(wait.pk)])


class TestLink:
    def make_url(self, person: Person, wait: RunWait) -> str:
        with tenant([wait.team_id]):
            token = make_link_token(person.principal, wait)
        return reverse("workflows:answer", args=[token])

    def test_whoever_has_the_link_answers_once(self, cast: Cast) -> None:
        wait = ask(cast.alice, inputs={"text": "a secret input"})
        url, browser = self.make_url(cast.alice, wait), Client()

        shown = browser.get(url)
        sent = browser.post(url, {"comment": "fine", "stars": "3", "-action": "send"})
        again = browser.post(url, {"comment": "no", "-action": "discard"})

        assert "Send it?" in shown.content.decode()
        assert "a secret input" not in shown.content.decode()
        assert shown["Referrer-Policy"] == "same-origin"
        assert "Your answer has been sent" in sent.content.decode()
        assert "This has been answered" in again.content.decode()
        with tenant([wait.team_id]):
            stored = RunWait.objects.unscoped().get(pk=wait.pk)
        assert (stored.answered_by, stored.action) == ("link", "send")
        assert stored.values == {"comment": "fine", "stars": 3, "urgent": False}
        assert actions(wait.team_id) == [("link", "run.answered")]

    def test_wrong_answer_is_shown_at_its_field(self, cast: Cast) -> None:
        wait = ask(cast.alice)

        page = Client().post(self.make_url(cast.alice, wait), {"stars": "many", "-action": "send"})

        assert page.status_code == 422
        assert 'aria-invalid="true"' in page.content.decode()
        assert load_run(wait).status == "paused"

    def test_link_ends_with_the_wait(self, cast: Cast) -> None:
        wait = ask(cast.alice, due_at=timezone.now() - timedelta(seconds=1))

        page = Client().get(self.make_url(cast.alice, wait))

        assert "The time to answer is over" in page.content.decode()
        assert "Send it?" not in page.content.decode()

    @pytest.mark.parametrize("salt", ["other", "workflows.wait"])
    def test_forged_link_leads_nowhere(self, cast: Cast, salt: str) -> None:
        wait = ask(cast.alice)
        token = signing.dumps([wait.team_id.hex, wait.pk.hex], key="another key", salt=salt)

        assert Client().get(reverse("workflows:answer", args=[token])).status_code == 404

    def test_stranger_gets_no_link(self, cast: Cast) -> None:
        wait = ask(cast.alice)

        with pytest.raises((NotAllowed, NotFound)):
            self.make_url(cast.bob, wait)

    def test_too_many_requests_are_refused(self, cast: Cast, settings: Any) -> None:
        settings.ACCOUNT_RATE_LIMITS = {"answer_link": "2/m/ip"}
        url, browser = self.make_url(cast.alice, ask(cast.alice)), Client(REMOTE_ADDR="192.0.2.7")

        statuses = [browser.post(url, {"stars": "x"}).status_code for _ in range(3)]

        assert statuses == [422, 422, 429]


class TestPages:
    def test_list_shows_the_forms(self, cast: Cast) -> None:
        ask(cast.alice)

        page = cast.alice.client.get(reverse("workflows:waiting")).content.decode()
        count = cast.alice.client.get(reverse("workflows:waiting_count")).content.decode()

        assert "Send it?" in page
        assert 'name="-action" value="discard"' in " ".join(page.split())
        assert ">1<" in count.replace("\n", "")

    @pytest.mark.parametrize(
        ("notice", "text"),
        [("", ""), ("starting", "Starting…"), ("missing", "No worker is running")],
    )
    def test_count_tells_an_open_page_whether_a_worker_is_missing(
        self, cast: Cast, notice: str, text: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("config.http.health.Readiness.worker_notice", WorkerNotice(notice))

        count = cast.alice.client.get(reverse("workflows:waiting_count")).content.decode()
        page = cast.alice.client.get(reverse("workflows:waiting")).content.decode()

        for markup in (count, page):
            banner = markup.split('id="worker-missing"')[1].split("</div>")[0]
            assert text in banner
            # What is said can be closed, and is asked again soon, and at the first event of a run.
            assert ("every 4s, run-event" in banner, "data-remove" in banner) == (bool(text),) * 2
        assert 'hx-swap-oob="true"' in count.split('id="worker-missing"')[1]

    def test_page_of_the_run_shows_the_form_and_the_link(self, cast: Cast) -> None:
        wait = ask(cast.alice)

        page = cast.alice.client.get(reverse("workflows:run", args=[wait.run_id])).content.decode()

        assert "Send it?" in page
        assert "/answer/" in page
        assert "Waiting for you" in page

    def test_answer_from_the_page_continues(self, cast: Cast) -> None:
        wait = ask(cast.alice)
        url = reverse("workflows:answer_wait", args=[wait.run_id, wait.pk])

        rejected = cast.alice.client.post(url, {"stars": "x", "-action": "send"})
        accepted = cast.alice.client.post(
            url, {"comment": "fine", "urgent": "on", "-action": "send"}, headers={"HX-Request": "1"}
        )

        assert rejected.status_code == 422
        assert "Answered by Alice." in accepted.content.decode()
        # By the labels that the person saw.
        answers = accepted.context["question"].answers
        assert answers == (("Answer", "Send"), ("Comment", "fine"), ("Urgent", "On"))
        # The form is gone by then, so that the number in the navigation hears it at the body.
        assert json.loads(accepted["HX-Trigger"]) == {"waiting-changed": {"target": "body"}}
        assert load_run(wait).status == "queued"

    @pytest.mark.parametrize(
        ("reason", "expected"),
        [("", {}), (" Not to her ", {"has_reason": True})],
    )
    def test_trail_says_that_an_approval_has_a_reason_which_stays_with_the_run(
        self, cast: Cast, reason: str, expected: Any
    ) -> None:
        """The trail keeps what it has when a person is erased."""
        wait = ask(cast.alice, form=build_form(AskedCall("send_mail", {"to": "ana"})))
        page = cast.alice.client.get(reverse("workflows:run", args=[wait.run_id]))

        answered = answer(cast.alice, wait, "refuse", comment=reason)

        assert "Reason" in markup_of(page)
        assert (answered.action, answered.values) == ("refuse", {"comment": reason})
        with tenant([wait.team_id]):
            entry = AuditEntry.objects.unscoped().get(action="run.answered")
        assert entry.detail == {"node": "ask", "chosen": "refuse", "tool": "send_mail", **expected}


def test_status_says_what_a_paused_run_waits_for(cast: Cast) -> None:
    at = timezone.now().replace(hour=14, minute=30)
    waiting = load_run(ask(cast.alice))
    delayed = load_run(ask(cast.alice, pause={"reason": "time"}, wake_at=at))
    debugged = load_run(ask(cast.alice, pause={"reason": "breakpoint"}))

    assert waiting.status_text == "Waiting for you"
    with time_machine.travel(
        at.replace(hour=9), tick=False
    ):  # the same day, even if midnight has passed
        assert delayed.status_text == "Waits until 14:30"
    assert debugged.status_text == "Paused"


QUESTION = {
    "type": "question",
    "content": "Which columns?",
    "inputs": [{"name": "answer", "type": "paragraph"}],
    "actions": [],
}


CHAT = {
    "version": "0.6.0",
    "kind": "app",
    "app": {"name": "Chat", "mode": "advanced-chat"},
    "workflow": {
        "graph": {
            "nodes": [
                {"id": "start", "data": {"type": "start", "title": "Start", "variables": []}},
                {"id": "answer", "data": {"type": "answer", "title": "Answer", "answer": "ok"}},
            ],
            "edges": [{"id": "e", "source": "start", "target": "answer"}],
        }
    },
}


class TestChat:
    """The next message answers a question, and is a new turn for anything else."""

    def make(self, person: Person, form: Any = QUESTION) -> tuple[Any, Any, RunWait]:
        workflow = make_workflow(person, source=CHAT)
        make_version(person, workflow)
        conversation = make_conversation(person, workflow)
        wait = ask(
            person,
            form,
            workflow=workflow,
            conversation=conversation,
            subject=str(person.user.pk),
            system={"query": "Make a table"},
        )
        return workflow, conversation, wait

    def say(self, person: Person, workflow: Any, conversation: Any, name: str = "chat_say") -> Any:
        return person.client.post(
            reverse(f"workflows:{name}", args=[workflow.pk]),
            {"query": "name, age", "conversation": conversation.key},
            headers={"HX-Request": "true"},
        )

    @pytest.mark.parametrize("name", ["chat_say", "say"])
    def test_message_answers_the_question(self, cast: Cast, name: str) -> None:
        workflow, conversation, wait = self.make(cast.alice)

        response = self.say(cast.alice, workflow, conversation, name)

        with tenant([wait.team_id]):
            wait.refresh_from_db()
            assert Run.objects.unscoped().filter(conversation=conversation).count() == 1
        assert response.status_code == 200
        assert wait.values == {"answer": "name, age"}
        assert load_run(wait).status == "queued"

    def test_message_through_the_api_answers_the_question(self, cast: Cast) -> None:
        workflow, conversation, wait = self.make(cast.alice)

        response = cast.alice.client.post(
            f"/api/v1/workflows/{workflow.pk}/runs",
            json.dumps({"query": "name, age", "conversation_id": conversation.key}),
            content_type="application/json",
        )

        assert (response.status_code, response.json()["id"]) == (202, str(wait.run_id))

    def test_choice_is_not_answered_by_a_message(self, cast: Cast) -> None:
        workflow, conversation, wait = self.make(cast.alice, FORM)

        self.say(cast.alice, workflow, conversation)

        with tenant([wait.team_id]):
            wait.refresh_from_db()
            assert Run.objects.unscoped().filter(conversation=conversation).count() == 2
        assert wait.answered_at is None

    def test_turn_shows_question_and_answer(self, cast: Cast) -> None:
        workflow, conversation, wait = self.make(cast.alice)
        url = reverse("workflows:run_waits", args=[wait.run_id])

        before = cast.alice.client.get(f"{url}?chat").content.decode()
        self.say(cast.alice, workflow, conversation)
        after = cast.alice.client.get(f"{url}?chat").content.decode()

        assert "Which columns?" in before
        assert "The reply below answers this question." in before
        assert "name, age" in after

    def test_form_in_a_chat_has_its_buttons(self, cast: Cast) -> None:
        _workflow, _conversation, wait = self.make(cast.alice, FORM)
        url = reverse("workflows:run_waits", args=[wait.run_id])

        shown = cast.alice.client.get(f"{url}?chat").content.decode()

        assert 'name="-action" value="discard"' in " ".join(shown.split())
