"""Rows about the nodes memory-retrieval and memory-delete: each provider, in a run of one process, and the
default one behind its door, as a durable run has it, for real and in the sandbox."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from memory.core.records import StoreParams, Tier
from tests.spec.providers.conftest import COMMITTED, KINDS, run
from tests.support.documents import document, end, node, start
from workflows.engine.language.document import Document
from workflows.engine.runtime.runner import WorkflowRunner


SYSTEM = {"workflow_id": "wf", "group_id": "g1", "user_id": "mia", "conversation_id": "c1"}
HERE, MIA = "ai:memory:wf:g1", "user:mia"


def remembered(value: Any, at: str = HERE, tier: Tier = Tier.LONG_TERM, **more: Any) -> StoreParams:
    key = more.pop("key", str(value))
    return StoreParams(at, key, value=value, tier=tier, **more)


def history(**data: Any) -> Document:
    made = node("m", "memory-retrieval", topic_selector=["start", "topic"], **data)
    return document([start("topic"), made, end(o=["m", "history_context"])],
                    ["start -> m", "m -> end"])  # fmt: skip


def forgetting(**data: Any) -> Document:
    """What is forgotten is gone for the very next node."""
    made = node("m", "memory-delete", **{"scope": "user", **data})
    rest = node("rest", "memory-recall", scope="user", top_k=20)
    return document([start("topic"), made, rest, end(o=["m", "deleted"], left=["rest", "count"])],
                    ["start -> m", "m -> rest", "rest -> end"])  # fmt: skip


@dataclass(frozen=True)
class Case:
    name: str
    document: Document
    outputs: Mapping[str, Any]
    before: Sequence[StoreParams] = ()
    topic: str = ""
    status: str = "succeeded"
    left: Mapping[str, int] = field(default_factory=dict)  # by namespace, what can be recalled


THREE = tuple(remembered(f"fact number {n}", MIA, key=f"k{n}", metadata={"n": n}) for n in range(3))
TEA = remembered("Alice likes green tea")
TODAY = remembered("We met at noon today", tier=Tier.WORKING)
COLD = remembered("The room was cold then", tier=Tier.WORKING)

CASES = [
    Case("history, nothing remembered", history(), {"o": ""}, topic="tea"),
    Case("history, working memory needs no match", history(),
         {"o": "## History\n\n### Record 1 (relevance: 1.00)\nThe room was cold then\n\n"
               "### Record 2 (relevance: 1.00)\nWe met at noon today"},
         [TODAY, COLD, TEA], topic="chess"),
    Case("history, working memory then what is asked for", history(),
         {"o": "## History\n\n### Record 1 (relevance: 1.00)\nWe met at noon today\n\n"
               "### Record 2 (relevance: 1.00)\nAlice likes green tea"},
         [TEA, TODAY], topic="green tea"),
    Case("history, the same text once", history(),
         {"o": "## History\n\n### Record 1 (relevance: 1.00)\nAlice likes green tea"},
         [TEA, remembered("alice likes GREEN tea.", tier=Tier.WORKING, key="again"),
          remembered("Alice likes green tea", tier=Tier.WORKING, key="newest")],
         topic="green tea"),
    Case("history, quarantine stays apart", history(), {"o": ""},
         [remembered("raw words about tea", tier=Tier.QUARANTINE)], topic="tea"),
    Case("history, of a person", history(scope="user", language="zh-hans"),
         {"o": "## 历史上下文\n\n### 记录1 (相关度: 1.00)\nfact number 1"},
         [THREE[1], TEA], topic="fact"),
    Case("history, of somebody else nothing", history(scope="user"), {"o": ""},
         [remembered("a fact of Ann's", "user:ann")], topic="fact"),
    Case("history, no group of its own", history(), {"o": ""},
         [remembered("tea of another group", "ai:memory:wf:g2")], topic="tea"),
    Case("forget by key", forgetting(key="k1"), {"o": 1, "left": 2}, THREE, left={MIA: 2}),
    Case("forget by a key that is filled in", forgetting(key="k{{#start.topic#}}"),
         {"o": 1, "left": 2}, THREE, topic="2", left={MIA: 2}),
    Case("forget by filter", forgetting(filter={"n": {"$gte": 1}}), {"o": 2, "left": 1}, THREE,
         left={MIA: 1}),
    Case("forget by both", forgetting(key="k1", filter={"n": 2}), {"o": 0, "left": 3}, THREE,
         left={MIA: 3}),
    Case("forget what isn't there", forgetting(key="none"), {"o": 0, "left": 0}),
    Case("forget in one's own scope only", forgetting(filter={"n": {"$gte": 0}}),
         {"o": 3, "left": 0}, [*THREE, remembered("a fact", "user:ann", metadata={"n": 1})],
         left={MIA: 0, "user:ann": 1}),
    Case("forget by a broken filter", forgetting(filter={"n": {"$near": 1}}), {}, THREE,
         status="failed", left={MIA: 3}),
]  # fmt: skip


def played(case: Case, port: Any) -> Any:
    runner = WorkflowRunner(case.document, memory=port)
    return run(runner.run(inputs={"topic": case.topic}, system=SYSTEM))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_nodes_do_the_same_with_every_provider(
    case: Case, kind: str, request: pytest.FixtureRequest
) -> None:
    from tests.spec.providers.conftest import make_in_memory, make_postgres

    here: dict[str, Callable[[], Any]] = {"in_memory": make_in_memory, "postgres": make_postgres}
    memory = here[kind]() if kind in here else request.getfixturevalue(f"make_{kind}")()
    for params in case.before:
        memory.provider.store(params)

    result = played(case, memory.provider)

    assert (result.status, result.outputs) == (case.status, case.outputs), result.error
    for namespace, count in case.left.items():
        assert len(memory.recall(namespace)) == count


@COMMITTED
@pytest.mark.parametrize("how", ["for real", "sandbox"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_nodes_do_the_same_behind_the_door(case: Case, how: str) -> None:
    """The sandbox gives the same answers and changes nothing."""
    from memory.providers.postgres import PostgresProvider
    from memory.services.gateway.engine_port import RunMemory
    from memory.services.sandbox.sandbox import SandboxMemory
    from tests.memory.services.conftest import in_run
    from tests.support.cast import make_cast

    alice = make_cast().alice
    there = PostgresProvider(alice.team.pk)
    for params in case.before:
        there.store(params)
    caller = in_run(alice, outside=True, **SYSTEM)
    ledger = Kept()
    port = RunMemory(caller) if how == "for real" else SandboxMemory(caller, ledger)

    result = played(case, port)

    assert (result.status, result.outputs) == (case.status, case.outputs), result.error
    kept = {one.namespace: 0 for one in case.before}
    for one in case.before:
        kept[one.namespace] += 1
    for namespace, count in case.left.items():
        left = len(there.recall(query_of(namespace)))
        assert left == (count if how == "for real" else kept[namespace])
    if how == "sandbox":
        gone = [change for change in ledger.load() if change.operation == "forget"]
        assert len(gone) == case.outputs.get("o", 0) if "left" in case.outputs else not gone


class Kept(list[Any]):
    """A ledger of a test run."""

    def load(self) -> Any:
        return self

    add = list.extend


def query_of(namespace: str) -> Any:
    from memory.core.records import MemoryQuery

    return MemoryQuery(namespace)
