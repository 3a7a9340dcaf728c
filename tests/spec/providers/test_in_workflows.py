"""A workflow run in one process remembers with whichever provider it is given."""

from typing import Any

import pytest

from memory.providers.base import MemoryProvider
from tests.engine.test_memory_nodes import SECTION_12
from tests.spec.providers.conftest import Memory, run
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.llm.offline import OfflineModels


MIA = {"conversation_id": "conv-123", "user_id": "user-456", "group_id": "group_123"}

# Tells the person's, the workflow's own and the run's memory the same, and reads all three.
EVERYWHERE = """
version: "0.1.0"
nodes:
  - {id: start, data: {type: start, title: Start, variables: [{variable: text, type: string, required: true}]}}
  - {id: user, data: {type: memory-store, title: a, scope: user, key: k, value_selector: [start, text]}}
  - {id: flow, data: {type: memory-store, title: b, scope: workflow, key: k, value_selector: [start, text]}}
  - {id: run, data: {type: memory-store, title: c, scope: run, key: k, value_selector: [start, text]}}
  - {id: of_user, data: {type: memory-recall, title: d, scope: user}}
  - {id: of_flow, data: {type: memory-recall, title: e, scope: workflow}}
  - {id: of_run, data: {type: memory-recall, title: f, scope: run}}
  - id: end
    data:
      type: end
      title: End
      outputs:
        - {variable: user, value_selector: [of_user, results]}
        - {variable: flow, value_selector: [of_flow, results]}
        - {variable: run, value_selector: [of_run, results]}
edges:
  - {source: start, target: user}
  - {source: user, target: flow}
  - {source: flow, target: run}
  - {source: run, target: of_user}
  - {source: of_user, target: of_flow}
  - {source: of_flow, target: of_run}
  - {source: of_run, target: end}
"""

# A chat's turn: what is remembered of the person, and what the message adds to it.
TURN = """
version: "0.1.0"
nodes:
  - {id: start, data: {type: start, title: Start, variables: [{variable: text, type: string, required: true}]}}
  - id: recall
    data: {type: memory-recall, title: a, scope: user, query_selector: [start, text], include_recent: true}
  - {id: keep, data: {type: memory-store, title: b, scope: user, source: facts, value_selector: [start, text]}}
  - id: end
    data:
      type: end
      title: End
      outputs:
        - {variable: known, value_selector: [recall, text]}
        - {variable: stored, value_selector: [keep, entries]}
edges:
  - {source: start, target: recall}
  - {source: recall, target: keep}
  - {source: keep, target: end}
"""


def ask(provider: MemoryProvider, source: str, inputs: dict[str, Any], **system: Any) -> Any:
    runner = WorkflowRunner(source, memory=provider, models=OfflineModels())
    return run(runner.run(inputs=inputs, system={**MIA, **system}))


def test_second_run_recalls_the_first_and_another_conversation_does_not(memory: Memory) -> None:
    ask(memory.provider, SECTION_12, {"query": "My cat is called Miso."})
    asked = ask(memory.provider, SECTION_12, {"query": "What is my cat called?"})
    other = ask(
        memory.provider, SECTION_12, {"query": "What is my cat called?"}, conversation_id="other"
    )

    assert "Miso" in asked.outputs["answer"]
    assert "Miso" not in other.outputs["answer"]


@pytest.mark.parametrize(
    "streams", [["chat"], ["chat", "desktop"]], ids=["one workflow", "merged workflows"]
)
def test_every_scope_is_kept_where_its_namespace_says(memory: Memory, streams: list[str]) -> None:
    result = ask(memory.provider, EVERYWHERE, {"text": "tea"}, workflow_names=streams)

    assert result.is_successful, result.error
    places = {name: found[0]["namespace"] for name, found in result.outputs.items()}
    assert places["user"] == "user:user-456"
    assert places["flow"] == f"ai:memory:{'-'.join(streams)}:group_123"
    assert places["run"].startswith("ai:notes:")
    assert [entry.value for entry in memory.recall(places["flow"])] == ["tea"]
    assert memory.recall(places["run"]) == []  # the run has ended


def test_facts_of_a_turn_are_stored_once_and_known_in_every_conversation(memory: Memory) -> None:
    def say(text: str, **system: Any) -> tuple[list[str], str]:
        result = ask(memory.provider, TURN, {"text": text}, **system)
        assert result.is_successful, result.error
        return [each["value"] for each in result.outputs["stored"]], result.outputs["known"]

    told, _ = say("I'm allergic to peanuts. What can I cook?")
    repeated, _ = say("I am allergic to peanuts!", conversation_id="second")
    asked, known = say("What should I avoid?", conversation_id="third")
    _, unknown = say("What should I avoid?", user_id="someone-else")

    assert (told, repeated, asked) == (["I'm allergic to peanuts."], [], [])
    assert '"I\'m allergic to peanuts."' in known
    assert unknown == ""
    assert len(memory.recall("user:user-456")) == 1
