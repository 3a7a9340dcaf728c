"""Prices of models: set on the page and by API, carried by usage, and needed for a limit of cost."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from django.urls import reverse

from accounts.tenancy import tenant
from tests.engine.agent.scripted import ScriptedModel, Tools, call, run_agent
from tests.factories.workflows import make_provider, make_workflow
from tests.support.cast import Cast, Person
from tests.support.markup import markup_of
from workflows.engine.ports import ModelChunk, ModelRequest, Origin, Usage
from workflows.errors import InvalidValue
from workflows.execution.ports.models import load_configs
from workflows.llm.config import Price, ProviderConfig
from workflows.llm.registry import TeamModels
from workflows.models import ModelProvider
from workflows.models.documents import from_json
from workflows.services import credentials
from workflows.services.editor.drafts import list_problems


PRICES = {"small": {"input": 1.0, "output": 2.0}, "*": {"input": 0.0, "output": 4.0}}


class Endpoint:
    """A model that reports a usage of a million tokens."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        yield ModelChunk(text="Hello")
        yield ModelChunk(finish_reason="stop", usage=Usage(1_000_000, 500_000))


# ——— engine


@pytest.mark.parametrize(("model", "cost"), [("small", 2.0), ("", 2.0), ("other", 2.0)])
async def test_answer_carries_the_cost_of_its_tokens(
    monkeypatch: pytest.MonkeyPatch, model: str, cost: float
) -> None:
    prices = {name: Price(**price) for name, price in PRICES.items()}
    models = TeamModels([ProviderConfig("mine", default_model="small", prices=prices)])
    monkeypatch.setattr(models, "_get_port", lambda *_names: Endpoint())
    request = ModelRequest("mine", model, (), Origin("run", "node", "key"))

    chunks = [chunk async for chunk in models.stream(request)]

    assert chunks[-1].usage == Usage(1_000_000, 500_000, cost)


async def test_model_without_a_price_has_no_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    models = TeamModels([ProviderConfig("mine", prices={"small": Price(1, 2)})])
    monkeypatch.setattr(models, "_get_port", lambda *_names: Endpoint())

    chunks = [
        chunk
        async for chunk in models.stream(
            ModelRequest("mine", "big", (), Origin("run", "node", "key"))
        )
    ]

    assert chunks[-1].usage == Usage(1_000_000, 500_000, None)


def test_costs_are_added_as_far_as_they_are_known() -> None:
    assert Usage(1, 1) + Usage(1, 1) == Usage(2, 2, None)
    assert Usage(1, 1, 0.5) + Usage(1, 1) + Usage(0, 0, 0.25) == Usage(2, 2, 0.75)


class PricedModel(ScriptedModel):
    """A scripted model each of whose answers costs half a dollar."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        async for chunk in super().stream(request):
            if chunk.usage is not None:
                yield ModelChunk(
                    chunk.text,
                    chunk.reasoning,
                    chunk.tool_calls,
                    chunk.finish_reason,
                    Usage(10, 5, 0.5),
                )
            else:
                yield chunk


async def test_agent_ends_at_its_limit_of_cost_and_says_so() -> None:
    tools, model = Tools(look=lambda: "nothing"), PricedModel(("", [call("look")]))

    result = await run_agent(model, tools, max_cost=1, max_rounds=20)

    assert result.outputs["finish_reason"] == "max_cost"
    assert result.outputs["usage"]["cost"] == 1.5
    assert result.outputs["usage"]["currency"] == "USD"
    assert "spent all your money" in model.requests[-1].messages[-1].text
    assert len(tools.ledger) == 2


async def test_agent_below_its_limit_is_not_stopped() -> None:
    result = await run_agent(PricedModel("Done"), max_cost=1)

    assert (result.outputs["finish_reason"], result.outputs["usage"]["cost"]) == ("stop", 0.5)


# ——— team


def build_document(provider: str, **data: Any) -> Any:
    model = {"provider": provider, "name": "small", "mode": "chat"}
    agent = {"type": "agent", "title": "Agent", "model": model, "query": "{{#start.q#}}", **data}
    nodes = [
        {"id": "start", "data": {"type": "start", "title": "Start", "variables": [{"variable": "q", "type": "string"}]}},
        {"id": "agent", "data": agent},
        {"id": "end", "data": {"type": "end", "title": "End", "outputs": []}},
    ]  # fmt: skip
    edges = [
        {"id": "e1", "source": "start", "target": "agent"},
        {"id": "e2", "source": "agent", "target": "end"},
    ]
    return {"version": "0.1.0", "nodes": nodes, "edges": edges}


def list_price_problems(person: Person, source: Any) -> list[tuple[str | None, str | None, str]]:
    workflow = make_workflow(person)
    problems = list_problems(workflow, from_json(source))
    return [(p.node, p.field, p.message) for p in problems if p.code == "agent.price"]


@pytest.mark.django_db
def test_limit_of_cost_without_a_price_is_a_warning_that_names_the_model(alice: Person) -> None:
    provider = make_provider(alice)
    limited = build_document("openai", max_cost=2)

    before = list_price_problems(alice, limited)
    credentials.update_provider(alice.principal, provider=provider, prices=PRICES)

    text = "The model small has no price, so the cost isn't limited; set it on the page Models"
    assert before == [("agent", "max_cost", text)]
    assert list_price_problems(alice, limited) == []
    assert list_price_problems(alice, build_document("offline", max_cost=2)) == []
    assert list_price_problems(alice, build_document("openai")) == []


@pytest.mark.django_db
def test_prices_are_set_and_read_by_api(cast: Cast) -> None:
    client = cast.alice.client
    body = {"name": "mine", "base_url": "https://models.example.org/v1", "prices": PRICES}

    made = client.post("/api/v1/providers", body, content_type="application/json").json()
    address = f"/api/v1/providers/{made['id']}"
    renamed = client.patch(address, {"default_model": "small"}, content_type="application/json")
    changed = client.patch(
        address, {"prices": {"small": {"input": 3, "output": 0.5}}}, content_type="application/json"
    )
    refused = client.patch(
        address, {"prices": {"small": {"input": -1, "output": 1}}}, content_type="application/json"
    )

    assert made["prices"] == renamed.json()["prices"] == PRICES
    assert changed.json()["prices"] == {"small": {"input": 3, "output": 0.5}}
    assert refused.status_code == 422
    [config] = load_configs(cast.alice.team.pk)
    assert config.find_price("") == Price(3, 0.5)


@pytest.mark.django_db
def test_prices_are_set_on_the_page_of_models(cast: Cast) -> None:
    provider = make_provider(cast.alice)
    address = reverse("workflows:set_prices", args=[provider.pk])
    rows = {"model": ["small", "*", ""], "input": ["1", "0,25", ""], "output": ["2.5", "4", ""]}

    response = cast.alice.client.post(address, rows, follow=True)

    page = markup_of(response)
    assert "Prices of 2 models" in page
    assert 'value="0.25"' in page
    with tenant([provider.team_id]):
        stored = ModelProvider.objects.unscoped().get(pk=provider.pk).prices
    assert stored == {"small": {"input": 1, "output": 2.5}, "*": {"input": 0.25, "output": 4}}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ({"model": ["small"], "input": ["cheap"], "output": ["2"]}, "Enter both prices of small as numbers."),
        ({"model": ["small"], "input": ["-1"], "output": ["2"]}, "The price of small must be between 0 and 1,000,000."),
        ({"model": ["small"], "input": ["nan"], "output": ["2"]}, "The price of small must be between 0 and 1,000,000."),
        ({"model": ["a", "a"], "input": ["1", "1"], "output": ["2", "2"]}, "Enter each model once, with its name."),
        ({"model": [""], "input": ["1"], "output": ["2"]}, "Enter each model once, with its name."),
    ],
)  # fmt: skip
def test_prices_that_can_not_be_are_rejected_and_stay_in_the_form(
    cast: Cast, rows: Any, error: str
) -> None:
    provider = make_provider(cast.alice)

    response = cast.alice.client.post(reverse("workflows:set_prices", args=[provider.pk]), rows)

    page = markup_of(response)
    assert response.status_code == 422
    assert error in page
    assert f'value="{rows["input"][0]}"' in page


@pytest.mark.django_db
def test_too_many_prices_are_refused(alice: Person) -> None:
    prices = {f"model{number}": {"input": 1.0, "output": 1.0} for number in range(201)}

    with pytest.raises(InvalidValue):
        credentials.update_provider(alice.principal, provider=make_provider(alice), prices=prices)
