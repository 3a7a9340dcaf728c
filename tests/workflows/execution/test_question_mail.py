"""Questions that are mailed: whom they reach, what they say, and what keeps them from being mailed."""

import re
from typing import Any

import pytest
from django.core import mail
from django.utils import translation

from accounts.mail import CONSOLE
from accounts.models import AuditEntry, Membership
from accounts.tenancy import tenant
from tests.factories.workflows import make_run, make_workflow
from tests.support.cast import Person, make_key
from workflows.engine.nodes.control.human_input import list_mail_addresses
from workflows.engine.runtime.waits import build_uncertain_form
from workflows.execution.questions.mail import has_mail, mail_questions
from workflows.models import Run, RunWait
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
        patch.setattr("accounts.mail.EmailMessage.send", fail)
        mail_questions(wait.team_id, wait.run_id)
    mail_questions(wait.team_id, wait.run_id)

    assert len(mail.outbox) == 2


def make_lost_call(run: Run) -> RunWait:
    form = build_uncertain_form("Order", {"url": "https://shop.example"}, can_have_happened=True)
    with tenant([run.team_id]):
        return RunWait.objects.create(team_id=run.team_id, run=run, node_key="order", form=form)


def test_lost_call_is_mailed_to_those_who_decide_about_it(cast):
    workflow = make_workflow(cast.alice, "Shop")
    run = make_run(cast.alice, workflow, subject_user=cast.bob.user)
    cast.bob.user.locale = "zh-hans"
    cast.bob.user.save()
    wait = make_lost_call(run)

    mail_questions(wait.team_id, wait.run_id)
    mail_questions(wait.team_id, wait.run_id)

    sent = {message.to[0]: message for message in mail.outbox}
    assert len(mail.outbox) == 2
    assert set(sent) == {cast.alice.user.email, cast.bob.user.email}
    to_alice, to_bob = sent[cast.alice.user.email], sent[cast.bob.user.email]
    assert to_alice.subject == "Your decision is needed: Shop"
    assert "while “Order” of “Shop” called a service" in str(to_alice.body)
    assert f"https://flow.example.com/runs/{run.pk}/\n" in str(to_alice.body)
    assert str(to_alice.body).endswith("\n\nhttps://flow.example.com/waiting/")
    assert "Shop" in to_bob.subject
    assert "Your decision" not in to_bob.subject
    with tenant([wait.team_id]):
        entry = AuditEntry.objects.unscoped().get(action="run.question_mailed")
    assert entry.detail == {"node": "order", "sent": 2, "addresses": 2}


def test_lost_call_of_a_keys_run_is_mailed_to_who_made_the_key(cast):
    key, _secret = make_key(cast, cast.ada)  # Alice makes it
    workflow = make_workflow(cast.alice)
    run = make_run(cast.ada, workflow, started_by=None, api_key=key, subject="customer-7")
    wait = make_lost_call(run)

    mail_questions(wait.team_id, wait.run_id)

    assert [message.to for message in mail.outbox] == [[cast.alice.user.email]]


def test_lost_call_is_not_mailed_to_who_may_not_decide_any_more(cast):
    workflow = make_workflow(cast.alice)
    run = make_run(cast.bob, workflow, subject_user=cast.alice.user)
    wait = make_lost_call(run)
    with tenant([cast.team_a.pk]):
        Membership.objects.unscoped().filter(user=cast.bob.user).delete()
    cast.alice.user.is_active = False
    cast.alice.user.save()

    mail_questions(wait.team_id, wait.run_id)

    assert mail.outbox == []


def test_many_lost_calls_are_one_mail_to_each_person(cast):
    workflow = make_workflow(cast.alice)
    waits = [make_lost_call(make_run(cast.alice, workflow)) for _number in range(3)]
    waits.append(make_lost_call(make_run(cast.bob, workflow)))

    for wait in waits:
        mail_questions(wait.team_id, wait.run_id)

    assert [message.to for message in mail.outbox] == [
        [cast.alice.user.email],
        [cast.bob.user.email],
    ]


def test_pause_has_mail_if_a_call_was_lost_or_a_question_names_addresses():
    lost_call = build_uncertain_form("Order", {}, can_have_happened=True)

    found = [
        has_mail([form]) for form in (lost_call, {"deliveries": [MAIL]}, {"type": "form"}, None)
    ]

    assert found == [True, True, False, False]


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


def make_question(person: Person, *keys: str, **form: Any) -> RunWait:
    wait = make_wait(person, *form.pop("deliveries", ()))
    with tenant([person.team.pk]):
        RunWait.objects.unscoped().filter(pk=wait.pk).update(answerers=[*keys])
    return wait


def test_members_who_are_asked_get_the_address_of_the_question_in_their_language(cast):
    cast.vic.user.locale = "zh-hans"
    cast.vic.user.save()
    wait = make_question(cast.bob, f"user:{cast.vic.user.pk}", "role:admin", "runner")

    mail_questions(wait.team_id, wait.run_id)

    sent = {message.to[0]: message for message in mail.outbox}
    assert set(sent) == {person.user.email for person in (cast.vic, cast.ada, cast.alice)}
    subject = "Your answer is needed: %(workflow)s"
    with translation.override("zh-hans"):
        in_chinese = translation.gettext(subject) % {"workflow": "Echo"}
    assert sent[cast.ada.user.email].subject == subject % {"workflow": "Echo"}
    assert sent[cast.vic.user.email].subject == in_chinese
    for message in mail.outbox:
        assert str(message.body).endswith(f"\n\nhttps://flow.example.com/waiting/{wait.pk}/")


def test_each_address_has_a_link_of_its_own_and_learns_no_name_of_the_workflow(client, cast):
    wait = make_question(cast.bob, "email:boss@example.com", deliveries=[MAIL])

    mail_questions(wait.team_id, wait.run_id)

    links = {
        message.to[0]: re.findall(r"https://flow\.example\.com(/answer/\S+)", str(message.body))[0]
        for message in mail.outbox
    }
    assert set(links) == {"desk@example.com", "boss@example.com"}
    assert len(set(links.values())) == 2
    assert not any("Echo" in f"{message.subject} {message.body}" for message in mail.outbox)
    client.post(links["desk@example.com"], {})
    with tenant([wait.team_id]):
        assert RunWait.objects.unscoped().get(pk=wait.pk).answered_by == "email:desk@example.com"


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["runner", "link"], False),
        (["user:7"], True),
        (["runner", "email:a@example.com"], True),
        ([], False),
    ],
)
def test_pause_has_mail_if_its_question_asks_people(keys, expected):
    assert has_mail([{"type": "form", "answerers": keys}]) is expected


def test_people_who_are_not_in_the_team_are_a_problem(cast):
    strangers = [
        {"type": "member", "value": str(cast.carol.user.pk)},
        {"type": "group", "value": "nobody"},
        {"type": "member", "value": str(cast.vic.user.pk)},
        {"type": "role", "value": "admin"},
    ]
    ask = {
        "type": "human-input",
        "title": "Ask",
        "form_content": "Well?",
        "answerers": strangers,
        "escalate_after": 60,
        "escalate_to": strangers[:1],
    }
    source = {"version": "0.1.0", "nodes": [{"id": "ask", "data": ask}], "edges": []}
    workflow = importing.import_document(
        cast.bob.principal, team_id=cast.team_a.pk, source=source, name="Asks"
    ).workflow

    with tenant([cast.team_a.pk]):
        problems = list_problems(workflow, load_draft(workflow))

    assert [(p.code, p.field) for p in problems if p.code.startswith("answerer.")] == [
        ("answerer.unknown", "answerers.0.value"),
        ("answerer.unknown", "answerers.1.value"),
        ("answerer.unknown", "escalate_to.0.value"),
    ]


def test_address_that_can_not_be_mailed_is_a_problem(alice, settings):
    settings.EMAIL_BACKEND = CONSOLE
    ask = {
        "type": "human-input",
        "title": "Ask",
        "form_content": "Well?",
        "answerers": [{"type": "email", "value": "boss@example.com"}],
    }
    source = {"version": "0.1.0", "nodes": [{"id": "ask", "data": ask}], "edges": []}
    workflow = importing.import_document(
        alice.principal, team_id=alice.team.pk, source=source, name="Asks"
    ).workflow

    found = [p for p in list_problems(workflow, load_draft(workflow)) if p.code.startswith("mail.")]

    assert [(p.code, p.field) for p in found] == [("mail.not_configured", "answerers")]
