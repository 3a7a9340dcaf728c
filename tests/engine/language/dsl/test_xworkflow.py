import pytest

from workflows.engine.errors import DocumentInvalid
from workflows.engine.language.document import Dialect, Mode
from workflows.engine.language.dsl import build_tree, export_document, load_document
from workflows.engine.language.dsl.xworkflow_data import translate_to_dify, translate_to_xworkflow
from workflows.engine.nodes import KNOWN_KINDS


# The example of the memory system's design document.
SEED = """\
version: "0.1.0"
nodes:
  - id: start
    data:
      type: start
      title: Start
      variables:
        - variable: query
          type: string
          required: true

  - id: recall_context
    data:
      type: memory-recall
      title: Recall Relevant Context
      scope: conversation
      query_selector: ["start", "query"]
      top_k: 5

  - id: llm1
    data:
      type: llm
      title: Generate Response
      model:
        provider: openai
        name: gpt-4
      prompt_template:
        - role: system
          text: "You are a helpful assistant. Context:\\n{{#recall_context.results#}}"
        - role: user
          text: "{{#start.query#}}"
      memory:
        enabled: true
        variable_selector: ["conversation", "history"]
        window_size: 10

  - id: end
    data:
      type: end
      title: End
      outputs:
        - variable: answer
          value_selector: ["llm1", "text"]

edges:
  - { id: e1, source: start, target: recall_context }
  - { id: e2, source: recall_context, target: llm1 }
  - { id: e4, source: llm1, target: end }
"""


def flat(*nodes, **more):
    made = [{"id": f"n{index}", "data": data} for index, data in enumerate(nodes)]
    return {"version": "0.1.0", "nodes": made, "edges": [], **more}


def data_of(*nodes):
    return [node.data for node in load_document(flat(*nodes)).document.nodes]


def test_load_seed_document_without_a_word():
    loaded = load_document(SEED)

    assert (loaded.warnings, loaded.pending) == ((), False)
    assert loaded.document.mode is Mode.WORKFLOW
    assert [node.kind for node in loaded.document.nodes] == ["start", "memory-recall", "llm", "end"]
    assert loaded.document.nodes[2].data["memory"] == {
        "enabled": True,
        "variable_selector": ["conversation", "history"],
        "window": {"enabled": True, "size": 10},
    }


def test_export_seed_document_says_the_same():
    document = load_document(SEED).document

    tree = build_tree(document)

    assert tree["nodes"][2]["data"]["memory"]["window_size"] == 10
    assert "window" not in tree["nodes"][2]["data"]["memory"]
    assert load_document(tree).document == document


@pytest.mark.parametrize(
    ("kinds", "mode"), [(["start", "end"], "workflow"), (["start", "answer"], "advanced-chat")]
)
def test_load_mode_is_told_by_the_answer(kinds, mode):
    assert load_document(flat(*({"type": kind} for kind in kinds))).document.mode == mode


@pytest.mark.parametrize("version", ["0.2.0", "0.6.0", 0.1, ""])
def test_load_other_versions_are_refused(version):
    with pytest.raises(DocumentInvalid, match=r"0\.1\.0"):
        load_document(flat({"type": "start"}, version=version))


def test_load_bare_graph_is_read_with_a_warning():
    loaded = load_document({"nodes": flat({"type": "start"})["nodes"], "edges": []})

    assert [problem.code for problem in loaded.warnings] == ["version.missing"]


def test_load_policies_become_one_form():
    strategy = {"type": "default-value", "default_value": {"text": "x", "n": 1}}
    retry = {"max_retries": 3, "retry_interval": 100, "backoff_strategy": "exponential"}

    (data,) = data_of({"type": "llm", "error_strategy": strategy, "retry_config": retry})

    assert data["error_strategy"] == "default-value"
    assert data["default_value"] == [
        {"key": "text", "type": "string", "value": "x"},
        {"key": "n", "type": "integer", "value": 1},
    ]
    assert data["retry_config"] == {"retry_enabled": True, **retry}


def test_load_words_become_one_vocabulary():
    condition = {"variable_selector": ["a", "b"], "comparison_operator": "greater_than"}
    case = {"case_id": "c", "logical_operator": "and", "conditions": [condition]}

    code, branch, assigner, classifier = data_of(
        {"type": "code", "language": "javascript"},
        {"type": "if-else", "cases": [case]},
        {"type": "assigner", "write_mode": "overwrite"},
        {"type": "question-classifier", "categories": [{"category_id": "1", "category_name": "A"}]},
    )

    assert code == {"type": "code", "code_language": "javascript", "calling": "inputs"}
    assert branch["cases"][0]["conditions"][0]["comparison_operator"] == ">"
    assert assigner["write_mode"] == "over-write"
    assert classifier["classes"] == [{"id": "1", "name": "A"}]
    assert classifier["default_branch"] is True


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (
            {"categories": [{"category_id": "1", "category_name": "A"}]},
            {"classes": [{"id": "1", "name": "A"}], "default_branch": True},
        ),
        (
            {"categories": [], "default_branch": False, "memory": {"enabled": True}},
            {
                "classes": [],
                "memory": {"window": {"enabled": False, "size": None}, "enabled": True},
            },
        ),
    ],
)
def test_classifier_keeps_whether_it_has_a_branch_for_other_texts(theirs, ours):
    assert translate_to_dify("question-classifier", theirs) == ours
    assert translate_to_xworkflow("question-classifier", ours) == theirs


def test_load_edges_know_both_spellings_of_handles():
    nodes = flat({"type": "start"}, {"type": "end"})["nodes"]
    edges = [
        {"source": "n0", "target": "n1", "source_handle": "a"},
        {"source": "n0", "target": "n1", "sourceHandle": "b"},
        {"source": "n0", "target": "n1"},
    ]

    document = load_document({"version": "0.1.0", "nodes": nodes, "edges": edges}).document

    assert [edge.handle for edge in document.edges] == ["a", "b", "source"]


def test_load_variables_and_other_parts():
    source = flat(
        environment_variables=[{"name": "k", "value": "v"}],
        conversation_variables=[{"name": "h", "type": "array[object]", "default": []}],
        error_handler={"mode": "notify"},
    )

    document = load_document(source).document

    assert (document.environment[0].value_type, document.environment[0].value) == ("string", "v")
    assert (document.conversation[0].value_type, document.conversation[0].value) == (
        "array[object]",
        [],
    )
    assert document.extra == {"error_handler": {"mode": "notify"}}


def test_export_names_what_xworkflow_does_not_know():
    dify = {
        "version": "0.6.0",
        "app": {"mode": "workflow", "name": "N"},
        "workflow": {
            "graph": {"nodes": [{"id": "h", "data": {"type": "human-input"}}], "edges": []},
            "features": {"file_upload": {}},
        },
    }

    warnings = export_document(
        load_document(dify).document, Dialect.XWORKFLOW, kinds=KNOWN_KINDS
    ).warnings

    assert [problem.code for problem in warnings] == ["export.kind", "export.parts", "export.parts"]
