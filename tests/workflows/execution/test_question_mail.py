"""Questions that are mailed: whom they reach, what they say, and what keeps them from being mailed."""

import re
from typing import Any

import pytest
from django.core import mail

from accounts.models import AuditEntry
from accounts.tenancy import tenant
from tests.factories.workflows import make_run, make_workflow
from tests.support.cast import Person
from workflows.engine.nodes.control.human_input import list_mail_addresses
from workflows.execution.question_mail import CONSOLE, mail_questions
from workflows.models import RunWait
from workflows.services.catalog import importing
from workflows.services.editor.drafts import list_problems, load_draft


pytestmark = pytest.mark.django_db

ITEMS = [
    {"type": "external", "email": "desk@example.com"},
    {"type": "external", "email": "not an address"},
    {"type": "member", "user_id": "7"},
    {"type": "external", "email": "boss@example.com"},
]
CONFIG = {"recipients": {"items": ITEMS}, "subject": "Decide,\nplease", "body": "Here: {{#url#}}"}
MAIL = {"type": "email", "enabled": True, "config": CONFIG}


@pytest.fixture(autouse=True)
def address(settings):
    settings.PUBLIC_URL = "https://flow.example.com/"


def make_wait(person: Person, *deliveries: dict[str, Any]) -> RunWait:
    run = make_run(person, make_workflow(person))
    form = {"type": "form", "content": "Send it? {{#$output.comment#}}", "deliveries": deliveries}
    with tenant([person.team.pk]):
        return RunWait.objects.create(
            team_id=person.team.pk, run=run, node_key="ask", form={**form, "inputs": []}
        )


def test_question_is_mailed_once_to_each_address_with_its_link(client, alice):
    wait = make_wait(alice, MAIL)

    mail_questions(wait.team_id, wait.run_id)
    mail_questions(wait.team_id, wait.run_id)

    assert [message.to for message in mail.outbox] == [["desk@example.com"], ["boss@example.com"]]
    assert mail.outbox[0].subject == "Decide, please"
    link = re.fullmatch(r"Here: https://flow\.example\.com(/\S+)", str(mail.outbox[0].body))
    assert link is not None
    assert client.get(link[1]).status_code == 200
    with tenant([alice.team.pk]):
        entry = AuditEntry.objects.unscoped().get(action="run.question_mailed")
    assert entry.detail == {"node": "ask", "sent": 2, "addresses": 3}


def test_mail_without_texts_says_the_question_and_ends_with_the_link(alice):
    wait = make_wait(alice, {"type": "email", "config": {"recipients": ["desk@example.com"]}})

    mail_questions(wait.team_id, wait.run_id)

    (message,) = mail.outbox
    assert message.subject == "Your answer is needed"
    assert message.body.startswith("Send it? \n\nhttps://flow.example.com/")


def test_failing_mail_server_is_not_the_end_of_the_run_and_is_tried_again(alice, monkeypatch):
    wait = make_wait(alice, MAIL)

    def fail(message: object) -> int:
        raise ConnectionRefusedError

    with monkeypatch.context() as patch:
        patch.setattr("workflows.execution.question_mail.EmailMessage.send", fail)
        mail_questions(wait.team_id, wait.run_id)
    mail_questions(wait.team_id, wait.run_id)

    assert len(mail.outbox) == 2


def test_nothing_is_mailed_without_a_mail_server(alice, settings):
    wait = make_wait(alice, MAIL)
    settings.EMAIL_BACKEND = CONSOLE

    mail_questions(wait.team_id, wait.run_id)

    assert mail.outbox == []


@pytest.mark.parametrize(
    ("delivery", "backend", "codes"),
    [
        (MAIL, "", []),
        (MAIL, CONSOLE, ["mail.not_configured"]),
        ({"type": "email", "config": {"recipients": {"items": []}}}, "", ["mail.no_address"]),
        ({"type": "email", "enabled": False}, CONSOLE, []),
        ({"type": "webapp"}, CONSOLE, []),
    ],
)
def test_question_that_can_not_be_mailed_is_a_problem(alice, settings, delivery, backend, codes):
    settings.EMAIL_BACKEND = backend or settings.EMAIL_BACKEND
    ask = {"type": "human-input", "title": "Ask", "form_content": "Well?",
           "delivery_methods": [delivery]}  # fmt: skip
    source = {"version": "0.1.0", "nodes": [{"id": "ask", "data": ask}], "edges": []}
    workflow = importing.import_document(
        alice.principal, team_id=alice.team.pk, source=source, name="Asks"
    ).workflow

    problems = list_problems(workflow, load_draft(workflow))

    found = [p for p in problems if p.code.startswith("mail.")]
    assert [(p.code, p.node, p.field) for p in found] == [
        (code, "ask", "delivery_methods") for code in codes
    ]


def test_addresses_are_bounded():
    many = [f"a{number}@example.com" for number in range(50)]

    assert len(list_mail_addresses([{"type": "email", "config": {"recipients": many}}])) == 20
