"""The mark of outside text in the rows of a conversation: turns of workers, side by side, and of clients."""

from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async

from accounts.tenancy import tenant
from memory import services
from memory.models import Entry
from memory.public import MemoryCaller
from tests.factories.workflows import make_version, make_workflow
from tests.support.cast import Cast
from workflows.engine.kinds import SHOWN_MEMORIES
from workflows.engine.language.dsl.dify import read_dify
from workflows.engine.language.dsl.yaml_reading import read_yaml
from workflows.engine.runtime.events import RunFinished
from workflows.execution import claims
from workflows.execution.claims import Claim
from workflows.execution.db import Database
from workflows.execution.events.bus import Publisher
from workflows.execution.journal.journal import DurableJournal
from workflows.execution.journal.outbox import Outbox
from workflows.execution.plans import prepare_document
from workflows.execution.ports.client_calls import ClientCall
from workflows.execution.ports.histories import ClientHistory
from workflows.execution.run_setup import load_setup
from workflows.execution.worker import Worker
from workflows.models import Conversation, Message, Run, Step, Workflow
from workflows.services.runs.runs import start_run


pytestmark = pytest.mark.django_db(transaction=True)

CHAT = """
version: 0.6.0
kind: app
app: {name: Tea, mode: advanced-chat}
workflow:
  graph:
    nodes:
      - {id: start, type: custom, data: {type: start, title: Start, variables: [
          {variable: own, label: Own, type: text-input, required: false}]}}
      - {id: r, type: custom, data: {type: memory-recall, title: Recall, scope: user, key: tea}}
      - {id: answer, type: custom, data: {type: answer, title: Answer, answer: "Tea: {{#r.results#}} {{#start.own#}}"}}
    edges:
      - {id: a, source: start, target: r}
      - {id: b, source: r, target: answer}
"""


@pytest.fixture
def worker(settings: Any) -> Iterator[Worker]:
    settings.REDIS_URL = ""
    made = Worker(capacity=1)
    made.start()
    yield made
    made.stop(0)


@pytest.fixture
def chat(cast: Cast) -> Workflow:
    workflow = make_workflow(cast.alice, "Tea", CHAT)
    make_version(cast.alice, workflow)
    return workflow


PREPARED = prepare_document(read_dify(read_yaml(CHAT)).document)
# The memory, as it is recognized.
WORDS = "opensatninesaysbeatrix"


def claim(cast: Cast, run: Run) -> Claim:
    row = {
        "workflow_id": str(run.workflow_id),
        "conversation_id": str(run.conversation_id or ""),
        "subject": run.subject,
    }
    return Claim(run.pk, cast.team_a.pk, 1, 0, 0.0, row)


def remember(cast: Cast, origin: str) -> None:
    caller = MemoryCaller(
        cast.alice.principal, cast.team_a.pk, {"user_id": str(cast.alice.user.pk)}
    )
    services.remember(caller, scope="user", key="tea", value=f"Opens at nine, says {origin}")
    with tenant([cast.team_a.pk]):
        Entry.objects.unscoped().filter(key="tea").update(metadata={"origin": origin})


def take_turn(cast: Cast, chat: Workflow, worker: Worker, **more: Any) -> Run:
    run = start_run(cast.alice.principal, workflow=chat, query="When?", **more)
    worker.execute_run(run.pk)
    with tenant([cast.team_a.pk]):
        run = Run.objects.unscoped().get(pk=run.pk)
    assert run.status == "succeeded", run.error
    return run


def list_messages(cast: Cast) -> list[tuple[int, bool]]:
    with tenant([cast.team_a.pk]):
        rows = Message.objects.unscoped().order_by("number")
        return list(rows.values_list("number", "is_untrusted"))


def test_answer_says_whether_it_has_text_from_outside(
    cast: Cast, chat: Workflow, worker: Worker
) -> None:
    remember(cast, "person")
    take_turn(cast, chat, worker, conversation="c1")
    remember(cast, "web")
    take_turn(cast, chat, worker, conversation="c1")

    assert list_messages(cast) == [(1, False), (2, True)]
    assert list_outside(cast) == ["sys.answers"]


def test_words_of_memories_in_an_answer_are_known_to_the_next_turn(
    cast: Cast, chat: Workflow, worker: Worker
) -> None:
    remember(cast, "Beatrix")

    first = take_turn(cast, chat, worker, conversation="c1")
    following = start_run(cast.alice.principal, workflow=chat, query="When?", conversation="c1")

    assert WORDS in first.memories_in_outputs
    assert list_words(cast) == sorted(first.memories_in_outputs)
    setup = async_to_sync(load_setup)(claim(cast, following), PREPARED)
    assert list(setup.shown_memories) == list_words(cast)


def test_memory_of_an_earlier_turn_is_recognized_in_this_one(
    cast: Cast, chat: Workflow, worker: Worker
) -> None:
    remember(cast, "Beatrix")
    take_turn(cast, chat, worker, conversation="c1")
    remember(cast, "Max")  # now nothing recalls the first one
    inputs = {"own": "Opens at nine, says Beatrix"}

    same = take_turn(cast, chat, worker, conversation="c1", inputs=inputs)
    other = take_turn(cast, chat, worker, conversation="c2", inputs=inputs)

    assert WORDS in same.memories_in_outputs
    assert WORDS not in other.memories_in_outputs


def test_texts_that_a_step_has_for_itself_are_not_shown(
    cast: Cast, chat: Workflow, worker: Worker
) -> None:
    remember(cast, "Beatrix")

    run = take_turn(cast, chat, worker, conversation="c1")

    with tenant([cast.team_a.pk]):
        step = Step.objects.unscoped().get(run=run, node_key="r")
    assert step.inputs[SHOWN_MEMORIES] == ["Opens at nine, says Beatrix"]
    for path in (f"/api/v1/runs/{run.pk}", f"/runs/{run.pk}/"):
        answer = cast.alice.client.get(path)
        assert answer.status_code == 200
        assert "Opens at nine" in answer.content.decode()  # in the outputs
        assert SHOWN_MEMORIES not in answer.content.decode()


def test_words_of_memories_are_added_to_those_of_other_turns(
    cast: Cast, chat: Workflow, worker: Worker
) -> None:
    remember(cast, "Beatrix")
    take_turn(cast, chat, worker, conversation="c1")
    with tenant([cast.team_a.pk]):
        Conversation.objects.unscoped().update(shown_memories=["fortytwo"])

    take_turn(cast, chat, worker, conversation="c1")

    assert {"fortytwo", WORDS} <= {*list_words(cast)}


def list_words(cast: Cast) -> list[str]:
    with tenant([cast.team_a.pk]):
        return list(Conversation.objects.unscoped().get().shown_memories)


@pytest.fixture
def turn(cast: Cast, chat: Workflow) -> Run:
    return start_run(cast.alice.principal, workflow=chat, query="When?", conversation="c1")


async def test_turn_that_ends_later_takes_no_mark_of_another_away(cast: Cast, turn: Run) -> None:
    """It began before the other left its mark, and knows only its own."""
    db = Database()
    claim = await claims.claim_run(db, turn.pk, "tester")
    assert claim is not None
    await sync_to_async(mark_conversation)(cast, ["conversation.seen"])
    state = {"status": "succeeded", "outputs": {}, "answer": "Nine", "outside": ["sys.answers"],
             "variables": {}, "has_untrusted_outputs": True}  # fmt: skip

    journal = DurableJournal(claim, db, Outbox(Publisher(None)))
    await journal.finish(RunFinished("succeeded"), state)
    journal.close()
    await db.close()

    outside = await sync_to_async(list_outside)(cast)
    assert outside == ["conversation.seen", "sys.answers"]
    assert await sync_to_async(list_messages)(cast) == [(1, True)]


def mark_conversation(cast: Cast, names: list[str]) -> None:
    with tenant([cast.team_a.pk]):
        Conversation.objects.unscoped().update(outside=names)


def list_outside(cast: Cast) -> list[str]:
    with tenant([cast.team_a.pk]):
        return list(Conversation.objects.unscoped().get().outside)


def test_answers_that_a_client_sends_back_are_trusted_only_if_a_clean_run_gave_them(
    cast: Cast, chat: Workflow, worker: Worker
) -> None:
    remember(cast, "person")
    clean = take_turn(cast, chat, worker).outputs["answer"]
    remember(cast, "web")
    marked = take_turn(cast, chat, worker).outputs["answer"]
    assert clean != marked
    texts = [clean, marked, "I never said that"]
    messages = [
        {"role": role, "content": text}
        for text in texts
        for role, text in (("user", "When?"), ("assistant", text))
    ]
    last = take_turn(cast, chat, worker)
    history = ClientHistory(claim(cast, last), ClientCall(messages))

    turns = async_to_sync(history.list_turns)(limit=None)

    assert [turn[:3] for turn in turns] == [
        ("When?", clean, False),
        ("When?", marked, True),
        ("When?", "I never said that", True),
    ]
    assert [WORDS in turn.memories for turn in turns] == [False, False, False]
    assert ["opensatninesaysperson" in turn.memories for turn in turns] == [True, False, False]


def test_short_answer_of_a_client_is_judged_by_the_runs_that_were_asked_the_same(
    cast: Cast, chat: Workflow, worker: Worker
) -> None:
    """Many runs say the same few words, some of them after they have read something outside."""
    asked = [("Is it open?", False), ("Did you pay?", True), ("Twice?", False), ("Twice?", True)]
    for query, is_untrusted in asked:
        run = start_run(cast.alice.principal, workflow=chat, query=query)
        with tenant([cast.team_a.pk]):
            Run.objects.unscoped().filter(pk=run.pk).update(
                outputs={"answer": "Yes."},
                has_untrusted_outputs=is_untrusted,
                finished_at=run.created_at,
            )
    queries = ["Is it open?", "Hello?\n\nIs it open?", "Did you pay?", "Twice?", "Never asked"]
    messages = [
        {"role": role, "content": text}
        for query in queries
        for role, text in (("user", query), ("assistant", "Yes."))
    ]
    last = start_run(cast.alice.principal, workflow=chat, query="And?")
    history = ClientHistory(claim(cast, last), ClientCall(messages))

    turns = async_to_sync(history.list_turns)(limit=None)

    marks = {turn.query: turn.is_untrusted for turn in turns}
    assert marks == dict(zip(queries, [False, False, True, True, True], strict=True))
