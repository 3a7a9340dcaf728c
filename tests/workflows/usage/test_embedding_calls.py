"""Calls of a team's embedding model count for whom they are made: a run's person, key and channel, or who asks directly."""

from datetime import date
from typing import Any

import pytest
from django.utils import timezone

from accounts.personas import make_service_subject
from accounts.principals import KeyPrincipal, load_run_principal
from memory.host import EmbeddingCall, EmbeddingCaller
from tests.factories.workflows import make_provider, make_run, make_workflow
from tests.support.cast import Cast, Person, make_key
from workflows import memory_app
from workflows.memory_host import WorkflowsHost
from workflows.services.usage.labels import find_subject, label_rows, make_code
from workflows.services.usage.report import Selection, load_report


pytestmark = pytest.mark.django_db


@pytest.fixture
def provider(alice: Person) -> Any:
    return make_provider(alice)


def count(person: Person, provider: Any, caller: EmbeddingCaller | None) -> None:
    call = EmbeddingCall(str(provider.pk), "embed", 10, 0.1, caller=caller)
    WorkflowsHost().count_embedding(person.team.pk, call)


def select(person: Person) -> Selection:
    today: date = timezone.now().date()
    return Selection(person.team.pk, today, today)


def list_tokens(person: Person, dimension: Any) -> dict[Any, int]:
    report = load_report(person.principal, select(person), (dimension,))
    return {key[0]: numbers.tokens for key, numbers in report.by[dimension].items()}


def test_call_of_a_sub_workflow_counts_for_the_run_that_was_started(
    cast: Cast, alice: Person, provider: Any
) -> None:
    key, _secret = make_key(cast, alice)
    outer, inner = make_workflow(alice, "Outer"), make_workflow(alice, "Inner")
    run = make_run(alice, outer, channel="dify", api_key=key, subject="ana")
    child = make_run(alice, inner, parent=run, parent_key="k", channel="page", subject="ana")
    principal = load_run_principal(run_id=child.pk, team_id=alice.team.pk, key_id=key.pk)

    count(alice, provider, EmbeddingCaller(principal, str(child.pk), "ana"))

    assert list_tokens(alice, "workflow") == {outer.pk: 10}
    assert list_tokens(alice, "key") == {key.pk: 10}
    assert list_tokens(alice, "person") == {"ana": 10}
    assert list_tokens(alice, "channel") == {"dify": 10}


def test_call_outside_of_runs_counts_for_who_asks(cast: Cast, alice: Person, provider: Any) -> None:
    key, _secret = make_key(cast, alice)
    program = KeyPrincipal(key)

    count(alice, provider, EmbeddingCaller(program))
    count(alice, provider, EmbeddingCaller(program, subject="ana", channel="mcp"))
    count(alice, provider, EmbeddingCaller(alice.principal))
    count(alice, provider, None)

    account = make_service_subject(key.service_account_id)
    assert list_tokens(alice, "person") == {
        account: 10, "ana": 10, str(alice.user.pk): 10, "": 10,
    }  # fmt: skip
    assert list_tokens(alice, "key") == {key.pk: 20, None: 20}
    assert list_tokens(alice, "channel") == {"api": 10, "mcp": 10, "page": 10, "memory": 10}


def test_call_of_a_deleted_run_counts_for_its_key(cast: Cast, alice: Person, provider: Any) -> None:
    key, _secret = make_key(cast, alice)
    run = make_run(alice, make_workflow(alice))
    principal = load_run_principal(run_id=run.pk, team_id=alice.team.pk, key_id=key.pk)
    caller = EmbeddingCaller(principal, "01a22d97-a19d-7002-97e1-99704f0e2b85", "ana")

    count(alice, provider, caller)

    assert (list_tokens(alice, "key"), list_tokens(alice, "person")) == ({key.pk: 10}, {"ana": 10})


def test_person_without_runs_is_shown_by_a_code_that_leads_back(
    cast: Cast, alice: Person, provider: Any
) -> None:
    key, _secret = make_key(cast, alice)
    count(alice, provider, EmbeddingCaller(KeyPrincipal(key), subject="ana"))
    code = make_code(alice.team.pk, "ana")

    assert find_subject(select(alice), code) == "ana"
    labels = label_rows(alice.principal, alice.team.pk, "person", [("ana",)])
    assert labels == {("ana",): "ana"}  # whose key it is sees the id


def test_memory_tells_the_channel_and_the_person_of_a_request(alice: Person) -> None:
    caller = memory_app.MemoryCaller(alice.principal, alice.team.pk)
    in_run = memory_app.MemoryCaller(
        alice.principal, alice.team.pk, identity={"run_id": "r1", "user_id": "ben"}
    )

    with memory_app.name_request("mcp", "ana"):
        described = [each.embedding_caller for each in (caller, in_run)]

    assert described == [
        EmbeddingCaller(alice.principal, "", "ana", "mcp"),
        EmbeddingCaller(alice.principal, "r1", "ben", "mcp"),
    ]
    assert caller.embedding_caller == EmbeddingCaller(alice.principal)
