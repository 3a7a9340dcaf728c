"""The page of models never says a key again."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.tenancy import tenant
from config.encryption.crypto import decrypt
from tests.factories.workflows import (
    document,
    make_provider,
    make_run,
    make_workflow,
    within,
)
from tests.fakes.openai_server import Failure, FakeOpenAI
from tests.support.cast import Cast, Person
from tests.support.markup import markup_of
from tests.workflows.views.conftest import text_of
from workflows.engine.errors import ModelNeeded
from workflows.execution.ports.model_health import mark_reachable, mark_unreachable
from workflows.execution.ports.models import load_directory
from workflows.llm.presets import PRESETS
from workflows.models import ModelProvider
from workflows.models.provider import ProviderStatus
from workflows.services.models.mappings import read_default_model
from workflows.services.samples.first_steps import Step, get_progress


PAGE = reverse("workflows:providers")
CANARY = "sk-canary-4a7f9c2e51"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenAI]:
    """An Ollama-like server on this machine, whose address the operator allows."""
    from config.net import allow, clients

    with FakeOpenAI(models=("nomic-embed-text", "small", "tiny")) as fake:
        monkeypatch.setattr(clients, "_load_allow_list", lambda: allow.parse_allowed((fake.allow,)))
        yield fake


@pytest.fixture
def good(server: FakeOpenAI) -> dict[str, str]:
    return {"name": "openai", "base_url": server.base_url, "api_key": CANARY}


def read_default(person: Person) -> dict[str, str]:
    with within(person):
        return read_default_model(person.principal, person.team.pk)


def build_llm_document(provider: str, model: str) -> dict[str, Any]:
    llm = {
        "type": "llm",
        "model": {"provider": provider, "name": model, "mode": "chat"},
        "prompt_template": [{"role": "user", "text": "Hello"}],
    }
    made = document()
    made["nodes"].append({"id": "llm", "data": llm})
    return made


def provider(person: Person) -> ModelProvider:
    with within(person):
        rows = ModelProvider.objects.visible_to(person.principal).select_related("credential")
        return rows.get()


def test_provider_that_answers_is_connected_with_its_key_and_becomes_the_default(
    ada: Person, server: FakeOpenAI, good: dict[str, str]
):
    answer = ada.client.post(PAGE, good, follow=True)

    made = provider(ada)
    page = text_of(answer)
    assert answer.redirect_chain == [(PAGE, 302)]
    assert made.credential is not None
    assert decrypt(bytes(made.credential.secret)) == CANARY
    assert CANARY not in page
    assert "Connected “openai”. Its model is small." in page
    assert CANARY[-4:] in page
    assert (made.status, made.default_model, made.model_names) == (
        ProviderStatus.CONNECTED,
        "small",  # the first that writes texts
        ["nomic-embed-text", "small", "tiny"],
    )
    assert [request.path for request in server.requests] == ["/v1/models"]
    assert read_default(ada) == {
        "provider": "openai",
        "model": "small",
    }
    assert Step.MODEL in get_progress(ada.principal).completed


def test_dead_address_is_refused_and_nothing_is_saved(ada: Person):
    dead = {"name": "ollama", "base_url": "http://127.0.0.1:9/v1"}

    answer = ada.client.post(PAGE, dead)

    assert answer.status_code == 422
    assert "Save anyway" in text_of(answer)
    with within(ada):
        assert not ModelProvider.objects.unscoped().exists()
    assert Step.MODEL not in get_progress(ada.principal).completed


def test_dead_address_that_is_saved_anyway_does_not_count_as_connected(ada: Person):
    dead = {"name": "ollama", "base_url": "http://127.0.0.1:9/v1", "save_anyway": "1"}

    page = text_of(ada.client.post(PAGE, dead, follow=True))

    assert "Not reachable" in page
    assert provider(ada).status is ProviderStatus.UNREACHABLE
    assert read_default(ada) == {"provider": "", "model": ""}
    assert Step.MODEL not in get_progress(ada.principal).completed


def test_wrong_key_is_said_beside_the_form_which_keeps_what_was_entered(
    ada: Person, server: FakeOpenAI, good: dict[str, str]
):
    server.api_key = "sk-another"

    answer = ada.client.post(PAGE, good, headers={"HX-Request": "true"})

    assert "openai rejected the credential. Check the API key." in text_of(answer)
    assert "<form" not in text_of(answer)


def test_page_asks_only_for_the_key_of_a_known_provider(ada: Person):
    page = text_of(ada.client.get(PAGE, {"preset": "mistral"}))

    main, _details, others = page.partition("More settings")
    assert ['id="id_api_key"' in main, 'id="id_base_url"' in main] == [True, False]
    assert "https://api.mistral.ai/v1" in others
    assert "https://console.mistral.ai/api-keys" in main
    assert [preset.title for preset in PRESETS if preset.title not in main] == []


def test_page_with_a_provider_lists_it_by_its_title_and_offers_more_without_a_form(ada: Person):
    before = text_of(ada.client.get(PAGE))
    make_provider(ada, name="ollama")
    page, asked = text_of(ada.client.get(PAGE)), text_of(ada.client.get(PAGE, {"preset": "other"}))

    assert ["Until you connect one" in each for each in (before, page)] == [True, False]
    assert ['id="id_api_key"' in each for each in (before, page, asked)] == [True, False, True]
    assert "<b>Ollama</b>" in page
    assert "Add provider" in page


def test_second_provider_of_a_kind_gets_a_name_of_its_own(ada: Person):
    make_provider(ada, name="openai")

    assert 'value="openai-2"' in text_of(ada.client.get(PAGE, {"preset": "openai"}))


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"name": "two words"}, "id_name"),
        ({"name": ""}, "id_name"),
        ({"base_url": "not an address"}, "id_base_url"),
        ({"base_url": "file:///etc/passwd"}, "id_base_url"),
    ],
)
def test_form_that_does_not_fit_names_the_field_and_forgets_the_key(
    ada: Person, good: dict[str, str], wrong: dict[str, str], field: str
):
    answer = ada.client.post(PAGE, {**good, **wrong})

    page = text_of(answer)
    assert answer.status_code == 422
    assert f'id="{field}_error"' in page
    assert CANARY not in page


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ({"base_url": "https://user:pass@models.example.org/v1"}, 422),
        ({"api_key": "sk\x07bell"}, 422),
        ({"name": "default"}, 422),
        ({"name": "taken"}, 409),
    ],
)
def test_what_the_service_refuses_is_said_without_the_key(
    ada: Person, good: dict[str, str], wrong: dict[str, str], status: int
):
    make_provider(ada, name="taken")

    answer = ada.client.post(PAGE, {**good, **wrong})

    assert answer.status_code == status
    assert CANARY not in text_of(answer)


def list_options(page: str) -> list[str]:
    picker = page.split('name="default_model"')[1].split("</select>")[0]
    return re.findall(r'value="([^"]*)"', picker)


def test_form_offers_the_models_that_the_provider_lists(
    ada: Person, server: FakeOpenAI, good: dict[str, str]
):
    address = reverse("workflows:offered_models")

    chat = text_of(ada.client.post(address, good))
    embedding = text_of(ada.client.post(address, {**good, "model_type": "embedding"}))
    own = text_of(ada.client.post(address, {**good, "default_model": "own"}))

    assert list_options(chat) == ["", "nomic-embed-text", "small", "tiny"]
    assert list_options(embedding) == ["", "nomic-embed-text"]
    assert list_options(own) == ["own", "", "nomic-embed-text", "small", "tiny"]
    assert "3 models available" in chat
    assert CANARY not in chat + embedding + own
    with within(ada):
        assert not ModelProvider.objects.unscoped().exists()


def test_form_says_why_a_provider_lists_no_models(
    ada: Person, server: FakeOpenAI, good: dict[str, str]
):
    address = reverse("workflows:offered_models")
    server.script(Failure(401))

    refused = text_of(ada.client.post(address, good))
    asked = len(server.requests)
    without_key = text_of(ada.client.post(address, {"preset": "openai", "api_key": ""}))

    assert "Check the API key" in refused
    assert list_options(refused) == [""]
    assert "Listed once the key is entered" in without_key
    assert len(server.requests) == asked


def test_page_offers_changes_to_those_who_manage_credentials(cast: Cast):
    make_provider(cast.ada, secret=CANARY)

    answers = {name: person.client.get(PAGE) for name, person in cast.people.items()}

    assert {name: answer.status_code for name, answer in answers.items()} == {
        "alice": 200,
        "ada": 200,
        "bob": 200,
        "vic": 403,
        "carol": 200,
    }
    offered = {n for n, a in answers.items() if "Remove" in text_of(a)}
    assert offered == {"alice", "ada"}
    assert [n for n, a in answers.items() if CANARY in text_of(a)] == []
    assert "models.example.org" not in text_of(answers["carol"])


def test_page_with_one_and_with_three_providers_asks_as_often(
    ada: Person, django_assert_num_queries
):
    client = ada.client
    make_provider(ada, name="one")
    client.get(PAGE)

    with django_assert_num_queries(17):
        client.get(PAGE)
    make_provider(ada, name="two")
    make_provider(ada, name="three")
    with django_assert_num_queries(17):
        client.get(PAGE)


def test_test_shows_its_result_in_the_row_at_once(
    ada: Person, server: FakeOpenAI, good: dict[str, str]
):
    ada.client.post(PAGE, good)
    made = provider(ada)
    address = reverse("workflows:test_provider", args=[made.pk])

    first = text_of(ada.client.post(address))
    server.script(Failure(500))
    second = text_of(ada.client.post(address))

    assert "3 models available" in first
    assert ["Connected" in first, "Not reachable" in first] == [True, False]
    assert ["Not reachable" in second, "server error" in second] == [True, True]
    assert CANARY not in first + second
    assert provider(ada).status is ProviderStatus.UNREACHABLE


def test_limits_are_saved_and_wrong_ones_shown(ada: Person):
    made = make_provider(ada)
    address = reverse("workflows:set_limits", args=[made.pk])

    ada.client.post(address, {"timeout_seconds": "30", "max_concurrency": "2", "max_tokens": ""})
    refused = ada.client.post(address, {"max_retries": "11"})

    row = provider(ada)
    assert (row.timeout_seconds, row.max_concurrency, row.max_tokens, row.max_retries) == (
        30,
        2,
        None,
        2,
    )
    assert (refused.status_code, "Retries:" in text_of(refused)) == (422, True)


def test_local_server_is_found_and_connected_by_one_click(
    ada: Person, server: FakeOpenAI, settings: Any
):
    settings.LOCAL_MODELS, settings.OLLAMA_HOST = True, f"0.0.0.0:{server.port}"
    address = reverse("workflows:local_models")

    found = text_of(ada.client.get(address))
    fields = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]+)"', found))
    page = text_of(ada.client.post(PAGE, fields, follow=True))

    assert "Ollama is running on this machine" in found
    assert "Connected “ollama”. Its model is small." in page
    assert "Ollama is running" not in text_of(ada.client.get(address))


def test_nothing_on_this_machine_is_called_unless_the_operator_allows_it(
    ada: Person, server: FakeOpenAI, settings: Any
):
    settings.LOCAL_MODELS, settings.OLLAMA_HOST = False, f"127.0.0.1:{server.port}"

    page = text_of(ada.client.get(PAGE))

    assert reverse("workflows:local_models") not in page
    assert "Ollama is running" not in text_of(ada.client.get(reverse("workflows:local_models")))
    assert server.requests == []


def test_default_model_is_changed_by_one_choice(
    ada: Person, server: FakeOpenAI, good: dict[str, str]
):
    ada.client.post(PAGE, good)
    choice = {"choice": f"{provider(ada).pk}:tiny"}

    changed = ada.client.post(
        reverse("workflows:set_default_model"), choice, headers={"HX-Request": "true"}
    )

    assert "Saved" in text_of(changed)
    assert read_default(ada)["model"] == "tiny"


def test_fallback_model_is_chosen_and_removed(
    ada: Person, server: FakeOpenAI, good: dict[str, str]
):
    ada.client.post(PAGE, good)
    url = reverse("workflows:set_fallback_model")
    htmx = {"HX-Request": "true"}

    chosen = ada.client.post(url, {"choice": f"{provider(ada).pk}:tiny"}, headers=htmx)
    fallback = load_directory(ada.team.pk).find_fallback()
    read = ada.client.get("/api/v1/models/fallback").json()
    mapped = ada.client.get("/api/v1/models/mappings").json()["items"]
    ada.client.post(url, {"choice": ""}, headers=htmx)
    again = ada.client.post(url, {"choice": ""}, headers=htmx)

    assert "Saved" in text_of(chosen)
    assert fallback is not None
    assert (fallback.provider, fallback.model) == ("openai", "tiny")
    assert read == {"provider": "openai", "model": "tiny"}
    assert mapped == []  # it answers for no model that documents name
    assert again.status_code == 200
    assert load_directory(ada.team.pk).find_fallback() is None


def test_fallback_model_is_set_over_the_api(ada: Person, server: FakeOpenAI, good: dict[str, str]):
    ada.client.post(PAGE, good)
    url, choice = "/api/v1/models/fallback", {"provider": "openai", "model": "small"}

    made = ada.client.put(url, choice, content_type="application/json")
    removed = ada.client.put(url, {}, content_type="application/json")

    assert (made.json(), removed.json()) == (choice, {"provider": "", "model": ""})


def test_models_are_offered_with_context_size_and_price(ada: Person):
    made = make_provider(ada)
    with tenant([ada.team.pk]):
        names = ["gpt-4o-mini", "own"]
        prices = {"gpt-4o-mini": {"input": 0.15, "output": 0.6}}
        ModelProvider.objects.unscoped().filter(pk=made.pk).update(model_names=names, prices=prices)

    page = markup_of(ada.client.get(PAGE))

    [hint] = {*re.findall(r'value="[^"]*:gpt-4o-mini"[^>]*data-hint="([^"]*)"', page)}
    assert hint == "128K context · $0.15 in, $0.6 out per 1M tokens"
    assert {*re.findall(r'value="[^"]*:own"[^>]*data-hint="([^"]*)"', page)} == {""}


def test_provider_that_a_call_could_not_reach_is_marked_with_its_time_everywhere(ada: Person):
    made = make_provider(ada)
    ada.client.put(
        "/api/v1/models/default", {"provider": "openai"}, content_type="application/json"
    )
    workflow = make_workflow(ada, source=build_llm_document("default", "default"))
    urls = [
        PAGE,
        reverse("home"),
        reverse("workflows:detail", args=[workflow.pk]),
        reverse("workflows:node", args=[workflow.pk, "llm"]),
    ]
    error = "openai isn't responding at https://models.example.org/v1. Is it running?"

    def are_marked() -> set[bool]:
        return {"Not reachable" in text_of(ada.client.get(url)) for url in urls}

    mark_unreachable(ada.team.pk, made.pk, error)
    bad, since = are_marked(), text_of(ada.client.get(PAGE))
    mark_reachable(ada.team.pk, made.pk)

    assert bad == {True}
    assert "now" in since
    assert "at https://models.example.org/v1. Is it running?" in since
    assert are_marked() == {False}


def test_viewer_gets_no_link_to_the_page_of_models(cast: Cast):
    made = make_provider(cast.alice)
    workflow = make_workflow(cast.alice, source=build_llm_document("openai", "gpt-4"))
    mark_unreachable(cast.team_a.pk, made.pk, "openai isn't responding.")
    error = f"{ModelNeeded.reason} Connect one under Models."

    def list_links(person: Person) -> list[bool]:
        run = make_run(person, workflow, status="failed", error=error, finished_at=timezone.now())
        urls = [
            reverse("workflows:node", args=[workflow.pk, "llm"]),
            reverse("workflows:detail", args=[workflow.pk]),
            reverse("workflows:run", args=[run.pk]),
            reverse("home"),
        ]
        return [f'href="{PAGE}"' in markup_of(person.client.get(url)) for url in urls]

    assert list_links(cast.vic) == [False] * 4
    assert list_links(cast.alice)[0]


def test_model_that_documents_name_is_offered_and_mapped(
    ada: Person, server: FakeOpenAI, good: dict[str, str]
):
    ada.client.post(PAGE, {**good, "name": "ollama"})
    make_workflow(ada, source=build_llm_document("acme", "large"))

    before = text_of(ada.client.get(PAGE))
    values = {"provider": "acme", "model": "large", "choice": f"{provider(ada).pk}:tiny"}
    ada.client.post(reverse("workflows:set_model_mapping"), values)
    with tenant([ada.team.pk]):
        answering = load_directory(ada.team.pk).resolve("acme", "large")
    ada.client.post(reverse("workflows:set_model_mapping"), {**values, "choice": ""})

    assert "acme/large" in before
    assert (answering.provider, answering.model, answering.is_mapped) == ("ollama", "tiny", True)
    assert load_directory(ada.team.pk).resolve("acme", "large").model == "small"  # the default


def test_removed_provider_takes_its_key_along(ada: Person):
    made = make_provider(ada)

    answer = ada.client.post(reverse("workflows:delete_provider", args=[made.pk]), follow=True)

    assert "Removed “openai” and its key." in text_of(answer)
    with within(ada):
        assert not ModelProvider.objects.unscoped().exists()
        assert not type(made.credential).objects.unscoped().exists()
