"""Requests to the offline provider, as nodes make them."""

from dataclasses import dataclass, field
from typing import Any

from workflows.engine.ports import Message, ModelRequest, Origin, Role


ORIGIN = Origin(run_id="r1", node_id="llm", idempotency_key="r1:llm")


@dataclass(frozen=True)
class Hit:
    value: Any
    key: str = "exchange_0198c2"
    score: float | None = 0.7
    id: str = "m1"
    namespace: str = "user:ana"
    metadata: dict[str, Any] = field(default_factory=dict)


def ask(
    text: str,
    *hits: Hit,
    system: str = "",
    history: tuple[tuple[Role, str], ...] = (),
    **more: Any,
) -> ModelRequest:
    messages = [Message("system", system)] if system else []
    messages += [Message(role, said) for role, said in history]
    return ModelRequest(
        "openai",
        "gpt-4",
        (*messages, Message("user", text)),
        ORIGIN,
        memories=hits,
        **more,
    )
