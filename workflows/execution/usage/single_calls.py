"""Counts calls of models that belong to no run, such as the embedding of memories and the questions after an answer."""

import logging
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import DatabaseError
from django.utils import timezone

from workflows.engine.ports import Usage
from workflows.execution.usage.counting import add_call
from workflows.execution.usage.numbers import get_bucket
from workflows.llm.config import Price, normalize_name


log = logging.getLogger(__name__)

# The channel of these calls in reports, beside those of runs.
MEMORY_CHANNEL: Final = "memory"


@dataclass(frozen=True, slots=True)
class CallOwner:
    """For whom a call is counted: by default for memory, which has no workflow and no person."""

    channel: str = MEMORY_CHANNEL
    workflow_id: UUID | None = None
    api_key_id: UUID | None = None
    subject: str = ""


MEMORY: Final = CallOwner()


def count_single_call(
    team_id: UUID,
    provider: str,
    model: str,
    *,
    price: Price | None,
    tokens: int,
    seconds: float,
    has_failed: bool = False,
    completion_tokens: int = 0,
    owner: CallOwner = MEMORY,
) -> None:
    """Add a call to the usage of today, in a transaction of its own. A failure is only logged: the call was made."""
    cost = price.compute_cost(Usage(tokens, completion_tokens)) if price else 0.0
    parameters: dict[str, Any] = {  # Any: what a query takes
        "team": team_id,
        "day": timezone.now().date(),
        "channel": owner.channel,
        "workflow": owner.workflow_id,
        "key": owner.api_key_id,
        "subject": owner.subject,
        "bucket": get_bucket(seconds),
        "provider": normalize_name(provider)[:255],
        "model": model[:255],
        "failed": int(has_failed),
        "seconds": seconds,
        "tokens": tokens,
        "completion_tokens": completion_tokens,
        "cost": cost,
        "unpriced": int(price is None and not has_failed),
    }
    try:
        add_call(team_id, parameters)
    except DatabaseError:
        log.warning("call_not_counted", extra={"team": str(team_id), "model": model}, exc_info=True)
