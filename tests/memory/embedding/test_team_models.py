"""A team's own embedding model finds its memories, and no other team's text goes there."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.tenancy import tenant
from memory import services
from memory.embedding import query_embedding
from memory.host import EmbeddingCaller, EmbeddingModel, get_host, register_host
from memory.models import Embedding
from memory.services.recall.embedding_status import explain_words_only, load_embedding_state
from memory.services.recall.team_embedding import embed_again, try_embedding_model
from memory.upkeep.embedding import embed_team, embed_team_again
from tests.fakes.openai_server import Failure, FakeOpenAI, Vectors
from tests.memory.fake_host import FakeHost
from tests.memory.services.conftest import at_door
from tests.support.cast import Cast, Person
from tests.support.embedding import Tiny, forget, vector


pytestmark = pytest.mark.django_db

HERE = "global:own-model"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[FakeOpenAI]:
    settings.MEMORY_EMBEDDER_SECONDS = 30  # on a busy machine even the fake may need more than two
    from config.net import clients
    from config.net.allow import parse_allowed

    with FakeOpenAI() as fake:
        monkeypatch.setattr(clients, "_load_allow_list", lambda: parse_allowed([fake.allow]))
        fake.script(Vectors(vector))
        yield fake


@pytest.fixture
def host() -> Iterator[FakeHost]:
    before, fake = get_host(), FakeHost()
    register_host(fake)
    yield fake
    register_host(before)
    forget()


def choose(
    host: FakeHost, person: Person, server: FakeOpenAI, name: str = "own", **more: Any
) -> None:
    model = EmbeddingModel("p1", server.base_url, name, "sk-canary", **more)
    host.embedding_models[person.team.pk] = model
    forget()


def store(person: Person, key: str, value: str) -> None:
    services.remember(at_door(person), namespace=HERE, key=key, value=value)


def recall(person: Person, query: str) -> list[str]:
    entries = services.recall(at_door(person), namespace=HERE, query_text=query, top_k=3)
    return [entry.key for entry in entries if "vector" in entry.explain]


def read_models(person: Person) -> list[tuple[str, int]]:
    with tenant([person.team.pk]):
        rows = Embedding.objects.unscoped().filter(team_id=person.team.pk).order_by("number")
        return list(rows.values_list("model", "dimensions"))


def test_memories_are_found_by_the_teams_own_model(
    alice: Person, tiny: Tiny, host: FakeHost, server: FakeOpenAI
) -> None:
    choose(host, alice, server, unrelated_cosine=0.1)
    store(alice, "a", "Her ship leaves on Monday.")
    store(alice, "b", "The kitten sleeps.")

    embedded = embed_team(alice.team.pk)

    name = f"127.0.0.1:{server.port}/v1 own"
    assert embedded == 2
    assert read_models(alice) == [(name, 5), (name, 5)]
    assert recall(alice, "vessel")[0] == "a"
    assert tiny.asked == []
    assert {request.headers["authorization"] for request in server.requests} == {"Bearer sk-canary"}
    assert explain_words_only(alice.team.pk) == ""


def test_text_of_another_team_never_goes_to_the_model(
    cast: Cast, tiny: Tiny, host: FakeHost, server: FakeOpenAI
) -> None:
    choose(host, cast.alice, server)
    store(cast.alice, "a", "Her ship leaves on Monday.")
    store(cast.carol, "a", "Carol's secret automobile.")

    embed_team(cast.alice.team.pk)
    embed_team(cast.carol.team.pk)
    recall(cast.carol, "Carol's vehicle")

    assert "Carol" not in str([request.body for request in server.requests])
    assert len(tiny.texts) == 1
    assert tiny.questions == ["Carol's vehicle"]


def test_words_serve_until_another_model_has_embedded_all(
    alice: Person, tiny: Tiny, host: FakeHost, server: FakeOpenAI
) -> None:
    store(alice, "a", "Her ship leaves on Monday.")
    embed_team(alice.team.pk)
    before = recall(alice, "ship")

    choose(host, alice, server)
    between = services.recall(at_door(alice), namespace=HERE, query_text="ship", top_k=3)
    embedded = embed_team_again(alice.team.pk)

    assert before == ["a"]
    assert [entry.key for entry in between] == ["a"]
    assert "vector" not in between[0].explain
    assert embedded == 1
    assert recall(alice, "vessel") == ["a"]


def test_model_that_changes_back_within_the_hour_embeds_all_again(
    alice: Person, tiny: Tiny, host: FakeHost, server: FakeOpenAI
) -> None:
    store(alice, "a", "Her ship leaves on Monday.")
    embed_team(alice.team.pk)
    choose(host, alice, server)
    embed_team_again(alice.team.pk)

    host.embedding_models.clear()
    embedded = embed_team_again(alice.team.pk)

    assert embedded == 1
    assert read_models(alice) == [("tiny/1", 5)]


def test_model_that_changes_while_it_embeds_leaves_no_vector_of_the_former_one(
    alice: Person, tiny: Tiny, host: FakeHost, server: FakeOpenAI
) -> None:
    def change(texts: Any) -> Any:
        choice = EmbeddingModel("p1", server.base_url, "own", "sk-canary")
        host.embedding_models[alice.team.pk] = choice
        return [vector(text) for text in texts]

    tiny.answers = change
    store(alice, "a", "Her ship leaves on Monday.")

    embed_team(alice.team.pk)

    assert read_models(alice) == [(f"127.0.0.1:{server.port}/v1 own", 5)]


def test_what_one_model_failed_to_embed_does_not_wait_for_another(
    alice: Person, tiny: Tiny, host: FakeHost, server: FakeOpenAI
) -> None:
    tiny.answers = lambda texts: []
    store(alice, "a", "Her ship leaves on Monday.")
    embed_team(alice.team.pk)

    choose(host, alice, server)

    assert embed_team_again(alice.team.pk) == 1


def test_dead_endpoint_of_one_team_leaves_the_others_their_search_by_meaning(
    cast: Cast, tiny: Tiny, host: FakeHost, server: FakeOpenAI
) -> None:
    store(cast.alice, "a", "Her ship leaves on Monday.")
    store(cast.carol, "a", "Her ship leaves on Monday.")
    embed_team(cast.carol.team.pk)
    choose(host, cast.alice, server)
    server.reset()
    server.script(Failure(503))

    found = services.recall(at_door(cast.alice), namespace=HERE, query_text="ship", top_k=3)
    again = services.recall(at_door(cast.alice), namespace=HERE, query_text="Monday", top_k=3)

    assert [[entry.key for entry in entries] for entries in (found, again)] == [["a"], ["a"]]
    assert "no_vector" in found[0].explain
    assert len(server.requests) == 1  # nobody waits for it again for a while
    assert recall(cast.carol, "vessel") == ["a"]


def test_endpoint_that_fails_is_left_alone_for_a_while_by_a_worker(
    alice: Person, tiny: Tiny, host: FakeHost, server: FakeOpenAI
) -> None:
    choose(host, alice, server)
    server.reset()
    server.script(Failure(503))
    store(alice, "a", "Her ship leaves on Monday.")
    later = timezone.now() + timedelta(hours=2)

    embed_team(alice.team.pk)
    embed_team(alice.team.pk, now=later)

    state = load_embedding_state(alice.team.pk)
    assert len(server.requests) == 1
    assert state is not None
    assert (state.failing, state.problem) == (1, "The server answered with status 503.")


def test_calls_are_counted_with_their_tokens_for_the_team(
    alice: Person, tiny: Tiny, host: FakeHost, server: FakeOpenAI
) -> None:
    choose(host, alice, server)
    store(alice, "a", "Her ship leaves on Monday.")

    embed_team(alice.team.pk)
    server.reset()
    server.script(Failure(429))
    recall(alice, "vessel")

    calls = [
        (team, call.model, call.tokens > 0, call.has_failed) for team, call in host.embedding_calls
    ]
    assert calls == [(alice.team.pk, "own", True, False), (alice.team.pk, "own", False, True)]


def test_call_for_a_question_says_who_asks_and_one_in_the_background_nobody(
    alice: Person, tiny: Tiny, host: FakeHost, server: FakeOpenAI
) -> None:
    choose(host, alice, server)
    store(alice, "a", "Her ship leaves on Monday.")
    asking = replace(at_door(alice), identity={"run_id": "r1", "user_id": "ana"})

    embed_team(alice.team.pk)
    services.recall(asking, namespace=HERE, query_text="vessel")

    expected = EmbeddingCaller(asking.principal, "r1", "ana")
    assert [call.caller for _team, call in host.embedding_calls] == [None, expected]


def test_trial_measures_dimensions_and_the_cosine_of_unrelated_texts(
    alice: Person, host: FakeHost, server: FakeOpenAI
) -> None:
    server.reset()
    server.script(Vectors(lambda text: [1.0, 0.0] if text.startswith("q: ") else [0.6, 0.8]))
    model = EmbeddingModel("p1", server.base_url, "own", question_prefix="q: ")

    trial = try_embedding_model(alice.team.pk, model)

    assert (trial.error, trial.dimensions, trial.unrelated_cosine) == ("", 2, 0.6)


def test_trial_that_fails_says_why(alice: Person, host: FakeHost, server: FakeOpenAI) -> None:
    server.api_key = "sk-another"

    trial = try_embedding_model(
        alice.team.pk, EmbeddingModel("p1", server.base_url, "own", "sk-canary")
    )

    assert trial.error == "The API key was rejected."


def test_endpoint_that_refuses_the_encoding_is_asked_without_it(
    alice: Person, host: FakeHost, server: FakeOpenAI
) -> None:
    refusal = Failure(422, "Extra inputs are not permitted: encoding_format")
    server.reset()
    server.script(lambda request: refusal if "encoding_format" in request.body else Vectors(vector))

    trial = try_embedding_model(alice.team.pk, EmbeddingModel("p1", server.base_url, "own"))

    assert (trial.error, trial.dimensions) == ("", 5)


def test_choice_is_read_again_once_it_was_changed_here(
    alice: Person,
    tiny: Tiny,
    host: FakeHost,
    server: FakeOpenAI,
    django_capture_on_commit_callbacks: Any,
) -> None:
    store(alice, "a", "Her ship leaves on Monday.")
    recall(alice, "vessel")
    host.embedding_models[alice.team.pk] = EmbeddingModel("p1", server.base_url, "own")

    with django_capture_on_commit_callbacks(execute=True):
        embed_again(alice.team.pk)
    query_embedding.clear_cache()
    recall(alice, "vessel")

    assert [request.body["input"] for request in server.requests] == [["vessel"]]
