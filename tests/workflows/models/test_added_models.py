"""Embedding and reranking models: connected, tested, made the default, used and counted."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import reverse

from accounts.tenancy import tenant
from memory import services
from memory.embedding.embedders import get_embedder
from memory.upkeep.embedding import embed_team
from tests.factories.workflows import make_provider, within
from tests.fakes.openai_server import Failure, FakeOpenAI, Reply, Request, Scores, Vectors
from tests.memory.services.conftest import at_door
from tests.support.cast import Cast, Person
from tests.support.embedding import Tiny, forget, vector
from tests.workflows.views.conftest import text_of
from workflows.models import ModelProvider, ModelUsage, ProviderModel
from workflows.services import credentials
from workflows.services.models import added_models
from workflows.services.models.mappings import read_default_model
from workflows.services.usage.report import load_report, select_last_days


pytestmark = pytest.mark.django_db

PAGE = reverse("workflows:providers")


def answer(request: Request) -> Reply:
    if request.path.endswith("/rerank"):
        return Scores(lambda text: 0.9 if "eat mice" in text else 0.1, usage={"total_tokens": 30})
    return Vectors(vector)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[FakeOpenAI]:
    settings.MEMORY_EMBEDDER_SECONDS = 30  # on a busy machine even the fake may need more than two
    from config.net import allow, clients

    with FakeOpenAI(models=("bge-m3", "bge-reranker", "small")) as fake:
        monkeypatch.setattr(clients, "_load_allow_list", lambda: allow.parse_allowed((fake.allow,)))
        fake.script(answer)
        yield fake
    forget()


def connect(person: Person, server: FakeOpenAI, name: str = "acme") -> ModelProvider:
    return credentials.create_provider(
        person.principal,
        team_id=person.team.pk,
        name=name,
        base_url=server.base_url,
        secret="sk-canary-0123456789",
        prices={"bge-m3": {"input": 1.0, "output": 0.0}},
    )


def add(person: Person, server: FakeOpenAI, model_type: str = "embedding", **more: Any) -> Any:
    values = {"name": "bge-m3", "is_default": True, **more}
    provider = more.pop("provider", None) or connect(person, server)
    values.pop("provider", None)
    return added_models.add_model(
        person.principal, provider=provider, model_type=model_type, **values
    )


def list_models(person: Person) -> list[ProviderModel]:
    with within(person):
        return list(ProviderModel.objects.unscoped().order_by("type", "name"))


def test_model_is_called_with_the_key_and_becomes_the_default(
    ada: Person, server: FakeOpenAI
) -> None:
    model, trial = add(ada, server)

    assert (trial.error, trial.dimensions) == ("", 5)
    assert (model.is_default, model.dimensions, model.check_error) == (True, 5, "")
    assert {request.path for request in server.requests} == {"/v1/embeddings"}
    assert server.requests[0].headers["authorization"] == "Bearer sk-canary-0123456789"


def test_memories_are_embedded_by_the_default_and_counted_with_their_price(
    ada: Person, server: FakeOpenAI, tiny: Tiny
) -> None:
    add(ada, server)
    services.remember(at_door(ada), namespace="global:own", key="a", value="Her ship leaves.")

    embed_team(ada.team.pk)
    found = services.recall(at_door(ada), namespace="global:own", query_text="vessel")

    assert [entry.key for entry in found] == ["a"]
    assert tiny.asked == []
    report = load_report(
        ada.principal, select_last_days(ada.team.pk), ("model", "channel", "workflow")
    )
    calls = report.by["model"]["acme", "bge-m3"]
    assert (calls.count, calls.failed, calls.unpriced_calls) == (4, 0, 0)  # two of the test
    assert calls.cost == pytest.approx(calls.prompt_tokens / 1_000_000)
    assert report.total.prompt_tokens == calls.prompt_tokens > 0
    assert set(report.by["channel"]) == {("memory",), ("page",)}  # the entry, and the question
    assert list(report.by["workflow"]) == [(None,)]


def test_usage_page_names_the_calls_of_memory(ada: Person, server: FakeOpenAI) -> None:
    add(ada, server)

    workflows = text_of(ada.client.get("/usage/"))
    channels = text_of(ada.client.get("/usage/?by=channel"))
    people = text_of(ada.client.get("/usage/?by=person"))
    table = ada.client.get("/api/v1/usage.csv?by=channel").content.decode()

    assert "Outside of workflows" in workflows
    assert "Memory in the background" in channels
    assert "Nobody, or erased" in people
    assert "Memory in the background" in table


def test_model_that_fails_is_not_added_unless_that_is_wanted(
    ada: Person, server: FakeOpenAI
) -> None:
    server.reset()
    server.script(Failure(404))
    provider = connect(ada, server)

    refused = add(ada, server, provider=provider)
    saved = add(ada, server, provider=provider, saves_failing=True)

    assert refused[0] is None
    assert refused[1].error == "The server answered with status 404."
    assert (saved[0].is_default, saved[0].check_error) == (False, refused[1].error)


def test_reranking_model_is_tested_by_the_order_that_it_gives(
    ada: Person, server: FakeOpenAI
) -> None:
    _model, trial = add(ada, server, "rerank", name="bge-reranker")

    (request,) = server.requests
    assert (trial.error, trial.order) == ("", (2, 1, 3))
    assert (request.path, request.body["model"]) == ("/v1/rerank", "bge-reranker")
    with within(ada):
        assert ModelUsage.objects.unscoped().get().prompt_tokens == 30


def test_default_is_one_a_type(ada: Person, server: FakeOpenAI) -> None:
    provider = connect(ada, server)
    for name in ("one", "two"):
        add(ada, server, provider=provider, name=name)
    add(ada, server, "rerank", provider=provider, name="three")

    assert [(row.name, row.is_default) for row in list_models(ada)] == [
        ("one", False),
        ("two", True),
        ("three", True),
    ]


@pytest.mark.parametrize("change", ["remove", "disable", "delete provider", "no default"])
def test_memory_goes_back_to_the_installations_model(
    ada: Person,
    server: FakeOpenAI,
    tiny: Tiny,
    change: str,
    django_capture_on_commit_callbacks: Any,
) -> None:
    model, _trial = add(ada, server)
    principal, provider, team_id = ada.principal, model.provider, ada.team.pk
    own = get_embedder(team_id)
    changes = {
        "remove": lambda: added_models.delete_model(principal, model=model),
        "disable": lambda: credentials.update_provider(principal, provider=provider, enabled=False),
        "delete provider": lambda: credentials.delete_provider(principal, provider=provider),
        "no default": lambda: added_models.set_default_model(
            principal, team_id=team_id, model_type="embedding", model=None
        ),
    }

    with django_capture_on_commit_callbacks(execute=True):
        changes[change]()

    assert own is not None
    assert own.name.endswith("bge-m3")
    assert get_embedder(team_id) is tiny


def test_key_that_cannot_be_read_leaves_recall_by_words(
    ada: Person, server: FakeOpenAI, tiny: Tiny, settings: Any
) -> None:
    add(ada, server)
    services.remember(at_door(ada), namespace="global:own", key="a", value="Her ship leaves.")
    server.api_key = "sk-canary-0123456789"
    with within(ada):
        provider = ModelProvider.objects.unscoped().select_related("credential").get()
        assert provider.credential is not None
        provider.credential.secret = b"unreadable"
        provider.credential.save()
    forget()

    found = services.recall(at_door(ada), namespace="global:own", query_text="ship")

    assert [entry.key for entry in found] == ["a"]


def test_provider_of_embeddings_alone_is_connected_by_its_model(
    ada: Person, server: FakeOpenAI
) -> None:
    form = {
        "name": "mine",
        "base_url": server.base_url,
        "api_key": "sk-canary-0123456789",
        "model_type": "embedding",
    }

    page = text_of(ada.client.post(PAGE, form, follow=True))

    (model,) = list_models(ada)
    assert (model.name, model.is_default) == ("bge-m3", True)  # of those that it lists
    assert "Its vectors have 5 dimensions." in page
    assert "is sent to mine" in page
    with within(ada):
        assert read_default_model(ada.principal, ada.team.pk)["model"] == ""


def test_provider_that_fails_its_embedding_test_is_not_saved(
    ada: Person, server: FakeOpenAI
) -> None:
    server.api_key = "sk-another"
    form = {
        "name": "mine",
        "base_url": server.base_url,
        "api_key": "sk-canary-0123456789",
        "model_type": "rerank",
        "default_model": "bge-reranker",
    }

    page = text_of(ada.client.post(PAGE, form, headers={"HX-Request": "true"}))

    assert "mine rejected the credential" in page
    with within(ada):
        assert not ModelProvider.objects.unscoped().exists()


def test_preset_without_chat_models_asks_for_the_type(ada: Person) -> None:
    jina = ada.client.get(f"{PAGE}?preset=jina").content.decode()
    cohere = ada.client.get(f"{PAGE}?preset=cohere").content.decode()

    types = [re.findall(r'<option value="(\w+)"', page) for page in (jina, cohere)]
    assert types == [["embedding", "rerank"], ["rerank"]]


def test_page_adds_tests_and_removes_a_model(ada: Person, server: FakeOpenAI) -> None:
    provider = connect(ada, server)
    htmx = {"HX-Request": "true"}
    form = {"type": "rerank", "name": "bge-reranker", "is_default": "1"}

    added = ada.client.post(reverse("workflows:add_model", args=[provider.pk]), form, headers=htmx)
    (model,) = list_models(ada)
    ids = [provider.pk, model.pk]
    tested = text_of(ada.client.post(reverse("workflows:test_model", args=ids), headers=htmx))
    removed = text_of(ada.client.post(reverse("workflows:delete_model", args=ids), follow=True))

    assert added.headers["HX-Refresh"] == "true"
    assert "put the texts in the order 2, 1, 3" in tested
    assert "Removed “bge-reranker”" in removed
    assert list_models(ada) == []


def test_form_says_what_is_wrong(ada: Person, server: FakeOpenAI) -> None:
    provider = connect(ada, server)
    url = reverse("workflows:add_model", args=[provider.pk])
    add(ada, server, provider=provider)
    htmx = {"HX-Request": "true"}

    twice = text_of(ada.client.post(url, {"type": "embedding", "name": "bge-m3"}, headers=htmx))
    server.reset()
    server.script(Failure(404))
    lost = text_of(ada.client.post(url, {"type": "embedding", "name": "lost"}, headers=htmx))

    assert "This model was added already." in twice
    assert "The server answered with status 404." in lost
    assert "Save anyway" in lost


def test_default_is_chosen_on_the_page(ada: Person, server: FakeOpenAI) -> None:
    model, _trial = add(ada, server, is_default=False)
    url = reverse("workflows:set_default_added_model", args=["embedding"])

    page = text_of(ada.client.post(url, {"choice": str(model.pk)}, headers={"HX-Request": "true"}))
    foreign = ada.client.post(url, {"choice": "0198c5f0-0000-7000-8000-000000000000"})

    assert "is sent to acme" in page
    assert foreign.status_code == 404
    assert ada.client.post(f"{PAGE}default/chat/", {"choice": ""}).status_code == 404


def test_api_adds_lists_tests_and_chooses(ada: Person, server: FakeOpenAI) -> None:
    provider = connect(ada, server)
    url = f"/api/v1/providers/{provider.pk}/models"
    body = {"type": "embedding", "name": "bge-m3"}

    made = ada.client.post(url, body, content_type="application/json").json()
    listed = ada.client.get(url).json()["items"]
    model_url = f"{url}/{listed[0]['id']}"
    tested = ada.client.post(f"{model_url}/test", content_type="application/json").json()
    default = ada.client.get("/api/v1/models/default/embedding").json()
    none = ada.client.put("/api/v1/models/default/embedding", {}, content_type="application/json")
    back = ada.client.put(
        "/api/v1/models/default/embedding", default, content_type="application/json"
    )
    lost = ada.client.put("/api/v1/models/default/rerank", default, content_type="application/json")

    assert (made["test"]["error"], made["model"]["dimensions"]) == ("", 5)
    assert listed == [made["model"]]
    assert tested == {**made["test"], "order": []}
    assert default == {"provider": "acme", "model": "bge-m3"}
    assert (none.json(), back.json(), lost.status_code) == (
        {"provider": "", "model": ""},
        default,
        404,
    )
    assert ada.client.delete(model_url).status_code == 204


def test_model_of_another_team_is_not_there(cast: Cast, server: FakeOpenAI) -> None:
    model, _trial = add(cast.carol, server)
    own = make_provider(cast.alice)

    for provider in (model.provider_id, own.pk):
        url = f"/api/v1/providers/{provider}/models/{model.pk}"
        tested = cast.alice.client.post(f"{url}/test", content_type="application/json")
        assert tested.status_code == 404
        assert cast.alice.client.delete(url).status_code == 404
    with tenant([cast.carol.team.pk]):
        assert ProviderModel.objects.unscoped().get().is_default
