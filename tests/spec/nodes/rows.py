"""What a row of the tables is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workflows.engine.testing.backends import Request


@dataclass(frozen=True)
class Row:
    name: str
    request: Request
    outputs: Mapping[str, Any] = field(default_factory=dict)
    status: str = "succeeded"
    stream: str | None = None
    conversation: Mapping[str, Any] = field(default_factory=dict)
