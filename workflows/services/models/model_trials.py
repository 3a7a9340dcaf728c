"""Calls an embedding or a reranking model with a few sentences of ours, to see whether it answers and how."""

import time
from dataclasses import dataclass, replace
from typing import Final

from asgiref.sync import async_to_sync
from django.utils.translation import gettext as _

from accounts.access import Principal
from config.encryption.crypto import SecretUnreadable
from workflows import memory_app
from workflows.engine.errors import ModelFailed
from workflows.engine.ports import Origin, RerankPort, RerankRequest
from workflows.errors import InvalidValue
from workflows.execution.ports.model_health import store_result
from workflows.execution.ports.models import build_config, load_config
from workflows.execution.usage.single_calls import count_single_call
from workflows.llm.config import ProviderConfig
from workflows.llm.registry import build_port
from workflows.models import ProviderModel
from workflows.models.provider import ModelType
from workflows.services.outside_calls import call_outside, take_places


TRIAL_SECONDS: Final = 15.0
# A question and three documents. Only the second one answers it.
TRIAL_QUERY: Final = "What do cats eat?"
TRIAL_DOCUMENTS: Final = (
    "The train to the coast leaves at noon.",
    "Cats eat mice, fish and the food of dogs.",
    "Wet paint dries slowly in the cellar.",
)


@dataclass(frozen=True, slots=True)
class ModelTrial:
    """The result of testing a model, or an error.

    ``order`` are the numbers of the documents from the most to the least relevant one, from 1; the second one answers.
    """

    error: str = ""
    dimensions: int | None = None
    unrelated_cosine: float | None = None
    order: tuple[int, ...] = ()


def try_model(principal: Principal, model: ProviderModel, config: ProviderConfig) -> ModelTrial:
    """Call the model with a few sentences of ours, and return the result. Nothing is stored."""
    if model.type == ModelType.RERANK:
        return _try_reranking(principal, model, config)
    if not memory_app.is_on():
        raise InvalidValue(_("Embedding models are for memory, which is off here."), field="type")
    with take_places(principal, model.team_id):
        trial = memory_app.try_embedding_model(model.team_id, build_embedding_model(model, config))
    if trial.error:
        return ModelTrial(trial.error)
    return ModelTrial("", trial.dimensions, trial.unrelated_cosine)


def build_embedding_model(
    model: ProviderModel, config: ProviderConfig
) -> "memory_app.EmbeddingModel":
    return memory_app.EmbeddingModel(
        provider=str(model.provider_id),
        url=config.address,
        model=model.name,
        key=config.api_key,
        dimensions=model.requested_dimensions,
        question_prefix=model.question_prefix,
        text_prefix=model.text_prefix,
        unrelated_cosine=model.unrelated_cosine or 0.0,
    )


def load_config_of(model: ProviderModel) -> ProviderConfig:
    """Return the configuration of the model's provider. Without a readable key, the endpoint says that it is missing."""
    try:
        return load_config(model.provider)
    except SecretUnreadable:
        return build_config(model.provider)


def _try_reranking(
    principal: Principal, model: ProviderModel, config: ProviderConfig
) -> ModelTrial:
    config = replace(config, total_seconds=TRIAL_SECONDS, idle_seconds=TRIAL_SECONDS)
    port: object = build_port(config)
    if not isinstance(port, RerankPort):
        return ModelTrial(_("This provider has no models of this type."))
    request = RerankRequest(
        config.name,
        model.name,
        TRIAL_QUERY,
        TRIAL_DOCUMENTS,
        len(TRIAL_DOCUMENTS),
        Origin("", "", ""),
    )
    order: tuple[int, ...] = ()
    failure: ModelFailed | None = None
    begin, tokens = time.monotonic(), 0
    try:
        with call_outside(principal, model.team_id):
            result = async_to_sync(port.rerank)(request)
        order = tuple(index + 1 for index, _score in result.scores)
        tokens = result.usage.prompt_tokens if result.usage else 0
    except ModelFailed as error:
        failure = error
    count_single_call(
        model.team_id,
        config.name,
        model.name,
        price=config.find_price(model.name),
        tokens=tokens,
        seconds=time.monotonic() - begin,
        has_failed=failure is not None,
    )
    store_result(model.team_id, config, failure, model.name)
    return ModelTrial(failure.message if failure else "", order=order)
