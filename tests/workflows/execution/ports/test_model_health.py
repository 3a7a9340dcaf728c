"""Whether a provider can be reached: calls and tests store it in one place, and every page reads it there."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.utils import timezone

from accounts.tenancy import tenant
from memory.core.recall.embedding import EmbedderFault
from memory.embedding.team_models import create_embedder
from tests.factories.workflows import make_provider
from tests.fakes.openai_server import Failure, FakeOpenAI, Scores, Vectors
from tests.support.cast import Cast
from workflows.engine.errors import ModelFailed
from workflows.engine.ports import Message, ModelRequest, Origin, RerankRequest
from workflows.execution.ports import model_health
from workflows.execution.ports.models import load_directory, load_team_models
from workflows.models import ModelProvider, ProviderModel
from workflows.models.provider import ModelType, ProviderStatus
from workflows.services.models import model_trials
from workflows.services.models.connecting import test_provider as run_provider_test


pytestmark = pytest.mark.django_db(transaction=True)

EARLIER = timezone.now() - timedelta(days=3)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenAI]:
    from config.net import allow, clients

    with FakeOpenAI() as fake:
        allowed = allow.parse_allowed((fake.allow, "127.0.0.1:9"))
        monkeypatch.setattr(clients, "_load_allow_list", lambda: allowed)
        yield fake


def make(cast: Cast, base_url: str, error: str = "") -> ModelProvider:
    provider = make_provider(cast.alice, name="ollama")
    with tenant([cast.team_a.pk]):
        rows = ModelProvider.objects.unscoped().filter(pk=provider.pk)
        rows.update(base_url=base_url, checked_at=EARLIER, check_error=error, max_retries=0)
    return provider


def call(cast: Cast) -> None:
    request = ModelRequest("ollama", "tiny", (Message("user", "Hi"),), Origin("r", "n", "k"))

    models = load_team_models(cast.team_a.pk)

    async def collect() -> None:
        async for _ in models.stream(request):
            pass

    asyncio.run(collect())


def reload(provider: ModelProvider) -> ModelProvider:
    with tenant([provider.team_id]):
        rows = ModelProvider.objects.unscoped().select_related("credential")
        return rows.get(pk=provider.pk)


def test_good_call_heals_a_provider_that_could_not_be_reached(
    cast: Cast, server: FakeOpenAI
) -> None:
    provider = make(cast, server.base_url, "ollama isn't responding.")
    assert load_directory(cast.team_a.pk).configs["ollama"].is_unreachable

    call(cast)

    row = reload(provider)
    assert (row.status, row.check_error) == (ProviderStatus.CONNECTED, "")
    assert row.checked_at
    assert row.checked_at > EARLIER
    assert not load_directory(cast.team_a.pk).configs["ollama"].is_unreachable


def test_good_call_of_a_good_provider_writes_nothing(cast: Cast, server: FakeOpenAI) -> None:
    provider = make(cast, server.base_url)

    call(cast)

    assert reload(provider).checked_at == EARLIER


def test_answer_waits_for_no_database_that_is_away(
    cast: Cast, server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(cast, server.base_url)
    asked: list[tuple[Any, ...]] = []

    def fail(*args: Any) -> None:
        asked.append(args)
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(model_health, "mark_reachable", fail)

    call(cast)

    assert len(asked) == 1


def test_bad_call_marks_the_provider_with_its_time(cast: Cast, server: FakeOpenAI) -> None:
    provider = make(cast, "http://127.0.0.1:9/v1")

    with pytest.raises(ModelFailed):
        call(cast)

    row = reload(provider)
    assert row.status == ProviderStatus.UNREACHABLE
    assert row.check_error.startswith("ollama isn't responding at http://127.0.0.1:9/v1")
    assert row.checked_at
    assert row.checked_at > EARLIER
    config = load_directory(cast.team_a.pk).configs["ollama"]
    assert (config.is_unreachable, config.checked_at) == (True, row.checked_at)


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        (Failure(401), ProviderStatus.UNREACHABLE),
        (Failure(503), ProviderStatus.UNREACHABLE),
        (Failure(404), ProviderStatus.CONNECTED),  # another model may be there
        (Failure(429), ProviderStatus.CONNECTED),
        (Failure(400), ProviderStatus.CONNECTED),
        (Failure(500), ProviderStatus.CONNECTED),
    ],
)
def test_only_a_failure_of_the_provider_itself_marks_it(
    cast: Cast, server: FakeOpenAI, failure: Failure, status: ProviderStatus
) -> None:
    provider = make(cast, server.base_url)
    server.script(failure)

    with pytest.raises(ModelFailed):
        call(cast)

    assert reload(provider).status == status


def test_test_and_call_store_their_results_in_the_same_place(
    cast: Cast, server: FakeOpenAI
) -> None:
    provider = make(cast, server.base_url)
    server.script(Failure(401))
    with pytest.raises(ModelFailed):
        call(cast)
    assert reload(provider).status == ProviderStatus.UNREACHABLE

    server.reset()
    run_provider_test(cast.alice.principal, provider=reload(provider))

    assert reload(provider).status == ProviderStatus.CONNECTED


def test_good_call_of_a_reranking_model_heals_the_model_and_its_provider(
    cast: Cast, server: FakeOpenAI
) -> None:
    provider = make(cast, server.base_url, "ollama isn't responding.")
    with tenant([cast.team_a.pk]):
        model = ProviderModel.objects.create(
            team_id=cast.team_a.pk,
            provider=provider,
            type=ModelType.RERANK,
            name="ranker",
            checked_at=EARLIER,
            check_error="ollama isn't responding.",
        )
    server.script(Scores(len))
    request = RerankRequest("ollama", "ranker", "cats", ("dogs", "cats"), 2, Origin("", "", ""))

    models = load_team_models(cast.team_a.pk)

    asyncio.run(models.rerank(request))

    with tenant([cast.team_a.pk]):
        model.refresh_from_db()
    assert (model.check_error, reload(provider).check_error) == ("", "")
    assert model.checked_at
    assert model.checked_at > EARLIER


def add_embedding_model(cast: Cast, provider: ModelProvider, error: str = "") -> ProviderModel:
    with tenant([cast.team_a.pk]):
        return ProviderModel.objects.create(
            team_id=cast.team_a.pk,
            provider=provider,
            type=ModelType.EMBEDDING,
            name="embedder",
            checked_at=EARLIER,
            check_error=error,
        )


def embed(model: ProviderModel) -> None:
    row = reload(model.provider)
    embedding_model = model_trials.build_embedding_model(model, model_trials.load_config(row))
    embedder = create_embedder(model.team_id, embedding_model)
    try:
        embedder.embed(["cats"], question=False, seconds=30)
    finally:
        embedder.close()


def test_good_call_of_an_embedding_model_heals_the_model_and_its_provider(
    cast: Cast, server: FakeOpenAI
) -> None:
    provider = make(cast, server.base_url, "ollama isn't responding.")
    model = add_embedding_model(cast, provider, "ollama isn't responding.")
    server.script(Vectors(lambda text: [1.0, 0.0]))

    embed(model)

    with tenant([cast.team_a.pk]):
        model.refresh_from_db()
    assert (model.check_error, reload(provider).check_error) == ("", "")
    assert reload(provider).status == ProviderStatus.CONNECTED


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (Failure(401), "ollama rejected the credential. Check the API key."),
        (Failure(503), "ollama had a server error (status 503)."),
        (Failure(404), ""),
        (Failure(429), ""),
        (Failure(400), ""),
    ],
)
def test_bad_call_of_an_embedding_model_marks_the_provider_in_the_words_of_other_calls(
    cast: Cast, server: FakeOpenAI, failure: Failure, error: str
) -> None:
    model = add_embedding_model(cast, make(cast, server.base_url))
    server.script(failure)

    with pytest.raises(EmbedderFault):
        embed(model)

    assert reload(model.provider).check_error == error


def test_embedding_model_that_is_not_there_marks_the_provider(
    cast: Cast, server: FakeOpenAI
) -> None:
    model = add_embedding_model(cast, make(cast, "http://127.0.0.1:9/v1"))

    with pytest.raises(EmbedderFault):
        embed(model)

    row = reload(model.provider)
    assert row.check_error.startswith("ollama isn't responding at http://127.0.0.1:9/v1")
    assert row.status == ProviderStatus.UNREACHABLE
