"""Turns of one conversation, said faster than they are answered: none is lost, none overtakes another."""

from tests.durability.conftest import Cluster
from tests.support.cast import Cast
from workflows.services.catalog import importing
from workflows.services.runs.runs import start_run


TURNS = 8
DIARY = """
version: 0.6.0
kind: app
app: {name: Diary, mode: advanced-chat}
workflow:
  conversation_variables:
    - {id: log, name: log, value_type: "array[string]", value: [], selector: [conversation, log]}
  graph:
    nodes:
      - {id: start, type: custom, data: {type: start, title: Start, variables: []}}
      - id: keep
        type: custom
        data:
          type: assigner
          title: Keep
          version: "2"
          items:
            - variable_selector: [conversation, log]
              input_type: variable
              operation: append
              value: [sys, query]
      - {id: answer, type: custom, data: {type: answer, title: Answer, answer: "{{#conversation.log#}}"}}
    edges:
      - {id: a, source: start, target: keep}
      - {id: b, source: keep, target: answer}
"""


def test_turns_said_at_once_are_answered_one_after_the_other(cluster: Cluster, cast: Cast) -> None:
    principal = cast.alice.principal
    diary = importing.import_document(principal, team_id=cast.team_a.pk, source=DIARY).workflow
    runs = [
        start_run(principal, workflow=diary, query=f"m{turn}", conversation="c1")
        for turn in range(TURNS)
    ]

    cluster.start("one")
    cluster.start("two")
    rows = [cluster.until_ended(run) for run in runs]

    assert [row["status"] for row in rows] == ["succeeded"] * TURNS
    assert [row["outputs"]["answer"].count("- ") for row in rows] == list(range(1, TURNS + 1))
    assert rows[-1]["outputs"]["answer"] == "\n".join(f"- m{turn}" for turn in range(TURNS))
