"""What the check for leaks asks of the app that runs workflows; it says here that it can answer."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol
from uuid import UUID

from accounts.principals import Principal
from memory.core.records import Json


class Trials(Protocol):
    def prepare(
        self, principal: Principal, team_id: UUID, *, own: str, shared: str
    ) -> Mapping[str, str]:
        """A workflow that says ``shared``, a run and a conversation that say ``own``; their ids by kind."""
        ...

    def answers(
        self, memory: Any, system: Mapping[str, Json], *, groups: Iterable[str]
    ) -> Iterable[tuple[str, str]]:
        """Every node kind that touches memory, run in this process over ``memory``: what it was, and all it said.

        ``groups``: those whose memory a node may ask for by name, whether it may have it or not.
        """
        ...


def asks_to_try_nodes(trials: Trials) -> None:
    _TRIALS["nodes"] = trials


def node_trials() -> Trials | None:
    return _TRIALS.get("nodes")


_TRIALS: dict[str, Trials] = {}
