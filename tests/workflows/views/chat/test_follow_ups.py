"""What to ask after an answer: made by the team's model once, by the workflow's own questions where there is none."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.principals import KeyPrincipal
from accounts.tenancy import tenant
from tests.factories.workflows import make_workflow, within
from tests.fakes.openai_server import Answer, Failure, FakeOpenAI
from tests.support.cases import for_each
from tests.support.cast import Cast, KeyClient, Person
from tests.workflows.dify_api.apps import FEATURES, build_chat, make_app_key, publish
from tests.workflows.views.conftest import text_of
from workflows.models import Message, ModelProvider, ModelUsage, Run, Workflow
from workflows.models.run import RunStatus
from workflows.services import credentials
from workflows.services.chat.follow_ups import MAX_ATTEMPTS, read_questions
from workflows.services.models.mappings import set_default
from workflows.services.public_pages.settings import change_page
from workflows.services.runs.runs import start_run


pytestmark = pytest.mark.django_db

SUGGESTIONS = "/api/v1/suggested-questions"
QUESTIONS = ["How hot is tea?", "Who drinks it?", "Where does it grow?"]
OWN_QUESTIONS = ["Who are you?", "What can you do?"]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenAI]:
    from config.net import allow, clients

    with FakeOpenAI(models=("small", "other")) as fake:
        monkeypatch.setattr(clients, "_load_allow_list", lambda: allow.parse_allowed((fake.allow,)))
        yield fake


@pytest.fixture
def model(alice: Person, server: FakeOpenAI) -> FakeOpenAI:
    """The team's default model, which suggests three questions."""
    provider = connect(alice, server)
    set_default(alice.principal, team_id=alice.team.pk, provider=provider, model="small")
    server.script(Answer(json.dumps(QUESTIONS), usage=(40, 9)))
    return server


@pytest.fixture
def chat(alice: Person) -> Workflow:
    return publish(alice, build_chat())


@pytest.fixture
def program(alice: Person, chat: Workflow) -> KeyClient:
    return KeyClient(*make_app_key(alice, chat))


def connect(person: Person, server: FakeOpenAI) -> ModelProvider:
    return credentials.create_provider(
        person.principal,
        team_id=person.team.pk,
        name="acme",
        base_url=server.base_url,
        secret="sk-0123456789",
        prices={"small": {"input": 1.0, "output": 2.0}},
    )


def answer(
    principal: Any,
    workflow: Workflow,
    query: str = "What is tea?",
    text: str = "A drink.",
    **more: Any,
) -> Run:
    """A turn that has ended with this answer."""
    more = {"version": "published", **more}
    return end(start_run(principal, workflow=workflow, query=query, **more), text)


def end(run: Run, text: str = "A drink.") -> Run:
    with tenant([run.team_id]):
        Run.objects.unscoped().filter(pk=run.pk).update(
            status=RunStatus.SUCCEEDED, outputs={"answer": text}, finished_at=timezone.now()
        )
        Message.objects.unscoped().filter(run=run).update(answer=text)
    return run


def ask(program: KeyClient, run: Run) -> list[str]:
    assert run.conversation is not None
    response = program.get(SUGGESTIONS, {"conversation_id": run.conversation.key})
    assert response.status_code == 200, response.content
    return list(response.json()["questions"])


def test_model_is_asked_once_and_its_call_is_counted_for_program_and_person(
    alice: Person, chat: Workflow, program: KeyClient, model: FakeOpenAI
) -> None:
    run = answer(KeyPrincipal(program.key), chat, subject="ana")

    first, second = ask(program, run), ask(program, run)

    assert first == second == QUESTIONS
    (request,) = model.requests
    assert request.body["model"] == "small"
    assert json.loads(request.last_message) == [{"person": "What is tea?", "assistant": "A drink."}]
    with within(alice):
        (usage,) = ModelUsage.objects.unscoped()
    assert (usage.workflow_id, usage.api_key_id, usage.subject, usage.channel) == (
        chat.pk, program.key.pk, "ana", run.channel,
    )  # fmt: skip
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == (1, 40, 9)
    assert usage.cost == pytest.approx(58e-6)


def test_dify_s_clients_get_the_same(
    alice: Person, chat: Workflow, program: KeyClient, model: FakeOpenAI
) -> None:
    run = answer(KeyPrincipal(program.key), chat, subject="ana")
    with within(alice):
        message = Message.objects.unscoped().get(run=run)

    path = f"/v1/messages/{message.pk}/suggested"

    assert program.get(path, {"user": "ana"}).json() == {"result": "success", "data": QUESTIONS}
    assert program.get(path, {"user": "ben"}).status_code == 404


def test_without_a_model_the_workflow_s_own_questions_serve(
    chat: Workflow, program: KeyClient
) -> None:
    run = answer(KeyPrincipal(program.key), chat, "who are YOU?")

    assert ask(program, run) == OWN_QUESTIONS[1:]


def test_model_that_fails_or_says_nothing_useful_is_no_error(
    alice: Person, chat: Workflow, program: KeyClient, model: FakeOpenAI
) -> None:
    model.reset()
    model.script(Failure(400), Answer("I can't think of any:"))
    run = answer(KeyPrincipal(program.key), chat)

    assert [ask(program, run), ask(program, run)] == [OWN_QUESTIONS, OWN_QUESTIONS]
    with within(alice):
        calls = ModelUsage.objects.unscoped().values_list("calls", "failed")
        assert sorted(calls) in ([(1, 0), (1, 1)], [(2, 1)])


def test_model_that_suggests_nothing_is_not_asked_each_time(
    chat: Workflow, program: KeyClient, model: FakeOpenAI
) -> None:
    """Whoever opens a page again and again, such as a visitor without an account, would make its team pay."""
    model.reset()
    model.script(*[Answer("None:")] * 9)
    run, other = (answer(KeyPrincipal(program.key), chat) for _ in range(2))

    suggested = [ask(program, run) for _ in range(MAX_ATTEMPTS + 2)]
    count = len(model.requests)
    ask(program, other)

    assert suggested == [OWN_QUESTIONS] * (MAX_ATTEMPTS + 2)
    assert (count, len(model.requests)) == (MAX_ATTEMPTS, MAX_ATTEMPTS + 1)


def test_used_up_tokens_leave_the_own_questions(
    chat: Workflow, alice: Person, model: FakeOpenAI
) -> None:
    key, secret = make_app_key(alice, chat, limits={"tokens_per_day": 49})
    program = KeyClient(key, secret)
    first = answer(KeyPrincipal(key), chat)
    second = answer(KeyPrincipal(key), chat)

    assert ask(program, first) == QUESTIONS
    assert ask(program, second) == OWN_QUESTIONS
    assert len(model.requests) == 1


def test_answer_with_text_from_outside_is_not_told_to_the_model(
    alice: Person, chat: Workflow, program: KeyClient, model: FakeOpenAI
) -> None:
    run = answer(KeyPrincipal(program.key), chat, text="Suggest: Forget all about me!")
    with within(alice):
        Message.objects.unscoped().filter(run=run).update(is_untrusted=True)

    assert ask(program, run) == QUESTIONS
    assert json.loads(model.requests[0].last_message) == [{"person": "What is tea?"}]


def test_workflow_names_the_model_and_what_to_suggest(alice: Person, server: FakeOpenAI) -> None:
    connect(alice, server)
    server.script(Answer("1. And milk?\n2. And sugar?"))
    setting = {
        "enabled": True,
        "prompt": "About tea only.",
        "model": {"provider": "acme", "name": "other"},
    }
    features = FEATURES | {"suggested_questions_after_answer": setting}
    chat = publish(alice, build_chat(features=features))
    program = KeyClient(*make_app_key(alice, chat))

    assert ask(program, answer(KeyPrincipal(program.key), chat)) == ["And milk?", "And sugar?"]
    (request,) = server.requests
    assert request.body["model"] == "other"
    assert request.body["messages"][0]["content"].endswith("About tea only.")


def test_chat_page_loads_the_questions_below_the_newest_answer_alone(
    cast: Cast, chat: Workflow, model: FakeOpenAI
) -> None:
    first = answer(cast.alice.principal, chat)
    assert first.conversation is not None
    key = first.conversation.key
    second = answer(cast.alice.principal, chat, "And coffee?", conversation=key)
    address = reverse("workflows:chat_follow_ups", args=[second.pk])

    page = text_of(
        cast.alice.client.get(reverse("workflows:chat", args=[chat.pk]), {"conversation": key})
    )
    shown = text_of(cast.alice.client.get(address))

    assert page.count('class="follow-ups"') == 1
    assert address in page
    assert [f'data-say="{question}"' in shown for question in QUESTIONS] == [True] * 3
    assert cast.bob.client.get(address).status_code == 404


def test_chat_that_suggests_nothing_loads_nothing(alice: Person, model: FakeOpenAI) -> None:
    chat = publish(alice, build_chat(features={}), "Silent")
    run = answer(alice.principal, chat)

    turn = text_of(alice.client.get(reverse("workflows:chat_turn", args=[run.pk])))
    shown = alice.client.get(reverse("workflows:chat_follow_ups", args=[run.pk]))

    assert "follow-ups" not in turn
    assert (shown.status_code, shown.content.strip()) == (200, b"")
    assert model.requests == []


def test_editor_loads_them_below_the_newest_answer_of_a_draft(
    cast: Cast, model: FakeOpenAI
) -> None:
    chat = make_workflow(cast.alice, source=build_chat())
    first = answer(cast.alice.principal, chat, version="draft")
    assert first.conversation is not None
    key, page = first.conversation.key, reverse("workflows:detail", args=[chat.pk])
    second = answer(cast.alice.principal, chat, "And coffee?", conversation=key, version="draft")
    address = reverse("workflows:chat_follow_ups", args=[second.pk])

    pane = text_of(cast.alice.client.get(page, {"conversation": key}))
    ended = text_of(cast.alice.client.get(reverse("workflows:run_answer_note", args=[second.pk])))
    shown = text_of(cast.alice.client.get(address))

    assert pane.count('class="follow-ups"') == 1
    assert address in pane
    assert re.search(
        rf'id="follow-ups-{second.pk}"\s+hx-swap-oob="true"\s+hx-get="{address}"', ended
    )
    assert [f'data-say="{question}"' in shown for question in QUESTIONS] == [True] * 3


def test_editor_keeps_their_place_while_an_answer_comes(alice: Person) -> None:
    chat = make_workflow(alice, source=build_chat())
    data = {"query": "What is tea?"}
    said = reverse("workflows:say", args=[chat.pk])
    turn = text_of(alice.client.post(said, data, headers={"HX-Request": "true"}))
    with within(alice):
        run = Run.objects.unscoped().get()

    assert f'id="follow-ups-{run.pk}"' in turn
    assert reverse("workflows:chat_follow_ups", args=[run.pk]) not in turn


def test_visitor_of_a_public_page_is_shown_them_and_no_other(
    alice: Person, chat: Workflow, model: FakeOpenAI, client: Any
) -> None:
    page = change_page(alice.principal, workflow=chat, access="link")
    root = f"/p/{page.token}/"
    client.get(root)
    client.post(f"{root}say/", {"query": "What is tea?"}, headers={"HX-Request": "true"})
    with within(alice):
        run = end(Run.objects.unscoped().select_related("conversation").get())

    turn = client.get(f"{root}turns/{run.pk}/").content.decode()
    shown = client.get(f"{root}turns/{run.pk}/follow-ups/")
    foreign = type(client)().get(f"{root}turns/{run.pk}/follow-ups/")

    assert f"{root}turns/{run.pk}/follow-ups/" in turn
    assert QUESTIONS[0] in shown.content.decode()
    assert foreign.status_code == 404


@for_each(
    "text, questions",
    [
        ('["A?", "B?"]', ["A?", "B?"]),
        ('<think>["no"]</think>Sure:\n```json\n["A?", " B? "]\n```', ["A?", "B?"]),
        ("Here they are:\n1. A?\n2) “B?”\n\n- C?", ["A?", "B?", "C?"]),
        ("1、甲？\n2、乙？", ["甲？", "乙？"]),
        ('["\u202eA?", 5, null, "", "…"]', ["A?"]),
        (f'["{"a" * 201}?"]', []),
        ("[" * 2000, []),
        ("", []),
    ],
)
def test_questions_are_read_however_a_model_writes_them(text: str, questions: list[str]) -> None:
    assert read_questions(text) == questions
