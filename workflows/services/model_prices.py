"""The prices of a team's models: checks those that people enter, and finds the agents whose cost can't be limited."""

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Final

from django.utils.translation import gettext as _

from workflows.engine.language.document import Document, NodeSpec
from workflows.engine.language.problems import Problem, build_warning
from workflows.errors import InvalidValue
from workflows.llm.config import OFFLINE, normalize_name
from workflows.llm.directory import ModelDirectory


MAX_PRICES: Final = 200
MAX_PRICE: Final = 1_000_000.0
_MAX_NAME: Final = 255
_AGENT: Final = "agent"

Prices = Mapping[str, Mapping[str, float]]


def clean_prices(prices: Prices) -> dict[str, dict[str, float]]:
    """Return the prices as they are stored. Raises InvalidValue with the name of the model whose price is not allowed."""
    if len(prices) > MAX_PRICES:
        text = _("A provider can have at most %(n)s prices.") % {"n": MAX_PRICES}
        raise InvalidValue(text, field="prices")
    cleaned: dict[str, dict[str, float]] = {}
    for name, price in prices.items():
        model = name.strip()
        values = {key: float(price[key]) for key in ("input", "output")}
        if not model or len(model) > _MAX_NAME or model in cleaned:
            text = _("Enter each model once, with its name.")
            raise InvalidValue(text, field="prices")
        if not all(isfinite(value) and 0 <= value <= MAX_PRICE for value in values.values()):
            text = _("The price of %(model)s must be between 0 and %(most)s.")
            raise InvalidValue(text % {"model": model, "most": f"{MAX_PRICE:,.0f}"}, field="prices")
        cleaned[model] = values
    return cleaned


def find_price_problems(directory: ModelDirectory | None, document: Document) -> Iterator[Problem]:
    """Yield a warning for each agent with a limit of cost whose model has no price in this team."""
    limited = [node for node in document.nodes if node.kind == _AGENT and node.data.get("max_cost")]
    directory = directory or ModelDirectory()
    for node in limited:
        provider, model = _read_model(node)
        resolution = directory.resolve(provider, model)
        config = resolution.config
        if normalize_name(provider) == OFFLINE or (config and config.find_price(resolution.model)):
            continue
        message = f"The model {model or provider} has no price, so the cost isn't limited; set it on the page Models"
        yield build_warning("agent.price", message, node=node.id, field="max_cost")


def _read_model(node: NodeSpec) -> tuple[str, str]:
    model = node.data.get("model")
    values = model if isinstance(model, Mapping) else {}
    return str(values.get("provider") or ""), str(values.get("name") or "")
