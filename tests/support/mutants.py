"""Ugly documents of both dialects: valid ones with random damage, each made of a seed.

A damaged document is still a tree of JSON values, so it may come out of a YAML file or out of an editor's rows.
"""

import copy
import random
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import yaml

from workflows.engine.kind_examples import build_example_data
from workflows.engine.language.document import Dialect
from workflows.engine.language.dsl import build_tree, load_document
from workflows.execution.kinds import load_kinds
from workflows.samples import SAMPLES_BY_SLUG


Json = Any
Tree = dict[str, Json]
# A place in a tree: a collection, and the key or the index of one of its values.
Place = tuple[Json, Json]

OPERATORS = ("contains", "is", "=", "≥", "all of", "exists", "near", "greater_than", "")
TEXTS = (
    *(
        "",
        " ",
        "\n",
        "\0",
        "\ud800",
        "\ufeff",
        "\u202e",
        "🙂" * 40,
        "x" * 5000,
        "NaN",
        "null",
        "-1",
    ),
    *("{{#", "#}}", "{{#a.b#}}", "{{#start.#}}", "{{#sys.query#}}", "{{#a.b.c.d.e.f#}}", "{{ x }}"),
    *(
        "{{#context#}}",
        "{% for x in y %}",
        "{%",
        "1e999",
        "1:30:45",
        "true",
        "array[string]",
        "[",
        "{",
    ),
    *(
        "http://",
        "http://[::1",
        "https://x.test:99999",
        "../../etc",
        "<script>",
        "a.b",
        "__scope__",
    ),
    *(
        "start",
        "sys",
        "env",
        "conversation",
        "loop",
        "iteration",
        "fail-branch",
        "source",
        "custom",
    ),
    *("0.1.0", "9.9.9", "advanced-chat", "workflow", "memory", "secret", *OPERATORS),
)
SCALARS: tuple[Json, ...] = (
    *(None, True, False, 0, 1, -1, 3, 2**31, 2**63 - 1, 2**63, -(10**25), 0.0, 1.5, -1e308),
    *(float("nan"), float("inf"), float("-inf")),
)
COLLECTIONS: tuple[Json, ...] = (
    *([], {}, [[]], [{}], [None], [True, 1, "1"], [["a", "b"]], [["a"], []], [1, "b"], ["a", None]),
    *({"": None}, {"type": []}, {"type": {}}, {"enabled": "yes"}, {"key": 1, "value": {}}),
    *({"value": []}, {"properties": []}, {"type": "object", "properties": {"a": 3}}, [{"id": []}]),
    *(
        ["sys", "query"],
        ["start", "sys.query"],
        ["start"],
        ["ghost", "text"],
        ["env", "K", "x", "y"],
    ),
    *(
        [{"variable": []}],
        [{"value_selector": {}}],
        {"conditions": [None]},
        {"nodes": 3, "edges": {}},
    ),
    *([0] * 300, ["a"] * 300, {f"k{n}": n for n in range(200)}),
)


def build_mutant(seed: int) -> Tree:
    """Return the document of a seed, which is always the same."""
    chance = random.Random(seed)
    tree = copy.deepcopy(chance.choice(list_originals()))
    for _ in range(chance.choice((0, 1, 1, 2, 3, 6, 15))):
        chance.choice(DAMAGES)(tree, chance)
    return tree


@cache
def list_originals() -> tuple[Tree, ...]:
    """Return valid documents: of every sample and of every kind, each in both dialects."""
    texts = [sample.source for sample in SAMPLES_BY_SLUG.values()]
    documents = [load_document(text).document for text in texts]
    documents += [load_document(tree).document for tree in _iter_examples()]
    trees = [build_tree(document, dialect) for document in documents for dialect in Dialect]
    return (*trees, *map(yaml.safe_load, _HAND_MADE))


def _iter_examples() -> Iterator[Tree]:
    """Yield documents with a node of each kind, five kinds a document."""
    names = sorted(load_kinds())
    for first in range(0, len(names), 5):
        nodes = [{"id": "start", "data": {"type": "start", "variables": _VARIABLES}}]
        for name in names[first : first + 5]:
            data = build_example_data(load_kinds()[name])
            nodes.append({"id": name.replace("-", "_"), "data": data})
        edges = [
            {"id": f"e{n}", "source": a["id"], "target": b["id"]}
            for n, (a, b) in enumerate(pairwise(nodes))
        ]
        yield {
            "version": "0.6.0",
            "app": {"name": "Example", "mode": "advanced-chat"},
            "workflow": {
                "graph": {"nodes": nodes, "edges": edges},
                "environment_variables": [
                    {"name": "K", "value_type": "secret", "value": "s"},
                    {"name": "N", "value_type": "number", "value": 3},
                ],
                "conversation_variables": [
                    {"name": "c", "value_type": "array[string]", "value": ["a"]}
                ],
            },
        }


def _replace_value(tree: Tree, chance: random.Random) -> None:
    for holder, key in _choose_places(tree, chance):
        pool = chance.choice((TEXTS, SCALARS, COLLECTIONS))
        holder[key] = copy.deepcopy(chance.choice(pool))


def _drop_value(tree: Tree, chance: random.Random) -> None:
    for holder, key in _choose_places(tree, chance):
        del holder[key]


def _wrap_value(tree: Tree, chance: random.Random) -> None:
    for holder, key in _choose_places(tree, chance):
        value = holder[key]
        holder[key] = chance.choice(
            ([value], {"value": value}, [value, value], str(value), {"type": value})
        )


def _swap_values(tree: Tree, chance: random.Random) -> None:
    for (holder, key), (other, other_key) in zip(
        _choose_places(tree, chance), _choose_places(tree, chance), strict=False
    ):
        # A copy, so that no value contains itself.
        value, other_value = copy.deepcopy(holder[key]), copy.deepcopy(other[other_key])
        holder[key] = other_value
        if other_key in other if isinstance(other, dict) else other_key < len(other):
            other[other_key] = value


def _rename_key(tree: Tree, chance: random.Random) -> None:
    for holder, key in _choose_places(tree, chance):
        if isinstance(holder, dict):
            holder[chance.choice((*TEXTS[:12], "type", "id", "data", "variable"))] = holder.pop(key)


def _repeat_node(tree: Tree, chance: random.Random) -> None:
    nodes = list_parts(tree, "nodes")
    if nodes:
        node = copy.deepcopy(chance.choice(nodes))
        if chance.random() < 0.5 and isinstance(node, dict):
            node["id"] = chance.choice(("copy", 7, True, None, "sys", "a b", "é" * 60))
        nodes.insert(chance.randrange(len(nodes) + 1), node)


def _add_edge(tree: Tree, chance: random.Random) -> None:
    edges = list_parts(tree, "edges")
    ids = [node.get("id") for node in list_parts(tree, "nodes") if isinstance(node, dict)]
    if ids:
        ends = chance.choice((*ids, "ghost")), chance.choice((*ids, "ghost", True))
        handle = chance.choice(("source", "true", "false", "1", "fail-branch", "success-branch"))
        edges.append({"id": "more", "source": ends[0], "target": ends[1], "sourceHandle": handle})


def _nest_node(tree: Tree, chance: random.Random) -> None:
    nodes = [node for node in list_parts(tree, "nodes") if isinstance(node, dict)]
    if nodes:
        node, container = chance.choice(nodes), chance.choice(nodes)
        node["parentId"] = container.get("id")
        if isinstance(container.get("data"), dict) and chance.random() < 0.5:
            container["data"]["type"] = chance.choice(("iteration", "loop"))


def _change_kind(tree: Tree, chance: random.Random) -> None:
    nodes = [node for node in list_parts(tree, "nodes") if isinstance(node, dict)]
    data = chance.choice(nodes).get("data") if nodes else None
    if isinstance(data, dict):
        data["type"] = chance.choice((*load_kinds(), "unheard-of", "tool", "agent", "note", ""))


def _disable_node(tree: Tree, chance: random.Random) -> None:
    nodes = [node for node in list_parts(tree, "nodes") if isinstance(node, dict)]
    data = chance.choice(nodes).get("data") if nodes else None
    if isinstance(data, dict):
        data["disabled"] = True


def _reset_field(tree: Tree, chance: random.Random) -> None:
    """Set a field that some kind knows, as the editor does, to a value of any type."""
    nodes = [node for node in list_parts(tree, "nodes") if isinstance(node, dict)]
    data = chance.choice(nodes).get("data") if nodes else None
    if isinstance(data, dict):
        kind = load_kinds().get(str(data.get("type")))
        names = [field.name for field in kind.fields] if kind else []
        names += ["error_strategy", "retry_config", "default_value", "memory", "vision", "context"]
        pool = chance.choice((TEXTS, SCALARS, COLLECTIONS))
        data[chance.choice(names)] = copy.deepcopy(chance.choice(pool))


DAMAGES: tuple[Callable[[Tree, random.Random], None], ...] = (
    *(_replace_value, _replace_value, _replace_value, _drop_value, _drop_value, _wrap_value),
    *(_swap_values, _rename_key, _repeat_node, _add_edge, _nest_node, _change_kind),
    *(_disable_node, _reset_field, _reset_field),
)


def _choose_places(tree: Tree, chance: random.Random) -> list[Place]:
    """Return one place, chosen by walking down, so that places near the root are chosen often enough."""
    holder: Json = tree
    while holder:
        key = (
            chance.choice([*holder]) if isinstance(holder, dict) else chance.randrange(len(holder))
        )
        value = holder[key]
        if not isinstance(value, dict | list) or not value or chance.random() < 0.03:
            return [(holder, key)]
        holder = value
    return []


def list_parts(tree: Tree, name: str) -> list[Json]:
    """Return the list of nodes or edges, or a list that nobody sees if the tree has none."""
    graph = tree
    for key in ("workflow", "graph"):
        part = graph.get(key)
        graph = part if isinstance(part, dict) else graph
    parts = graph.get(name)
    return parts if isinstance(parts, list) else []


_VARIABLES = [
    {"variable": "text", "label": "Text", "type": "paragraph", "required": True},
    {"variable": "choice", "label": "Choice", "type": "select", "options": ["a", "b"]},
    {"variable": "count", "label": "Count", "type": "number", "default": "3"},
    {"variable": "data", "label": "Data", "type": "json_object", "json_schema": {"type": "object"}},
    {"variable": "upload", "label": "Upload", "type": "file-list", "max_length": 3},
]
# Settings that the examples of kinds lack: bodies of containers, groups, tagged values of requests.
_HAND_MADE = (
    """
version: "0.1.0"
environment_variables: [{name: KEY, value: secret}]
conversation_variables: [{name: log, type: "array[object]", default: []}]
error_handler: {mode: recover, sub_graph: {nodes: [{id: e, type: end, data: {outputs: []}}], edges: []}}
nodes:
  - {id: start, data: {type: start, variables: [{variable: items, type: "array[string]"}]}}
  - id: each
    data:
      type: iteration
      input_selector: [start, items]
      parallel: true
      parallelism: 4
      sub_graph:
        nodes:
          - {id: start, type: start, title: Start, data: {}}
          - {id: inner, type: loop, title: Loop, data: {max_iterations: 3, initial_vars: {n: 0},
             condition: {variable_selector: [loop, n], comparison_operator: less_than, value: 2},
             sub_graph: {nodes: [{id: start, type: start, data: {}}, {id: out, type: end, data:
             {outputs: [{variable: n, value_selector: [loop, n]}]}}], edges: [{source: start, target: out}]}}}
          - {id: out, type: end, title: End, data: {outputs: [{variable: o, value_selector: [__scope__, item]}]}}
        edges: [{source: start, target: inner}, {source: inner, target: out}]
  - id: ask
    data:
      type: http-request
      method: POST
      url: "https://x.test/{{#start.items#}}"
      headers: [{key: A, value: b}]
      params: [{key: q, value: "{{#each.output#}}"}]
      body: {type: x_www_form_urlencoded, data: [{key: a, value: b}]}
      authorization: {type: api_key, key: X, value: "{{#env.KEY#}}", position: header}
      timeout: 5
      error_strategy: {type: default-value, default_value: {body: none}}
      retry_config: {max_retries: 2, retry_interval: 10, backoff_strategy: exponential}
  - {id: run, data: {type: code, language: javascript, code: "function main(i) { return i }",
     variables: [{variable: x, value_selector: [ask, body]}], outputs: {x: {type: string}}}}
  - {id: pick, data: {type: list-operator, operation: filter, input_selector: [start, items],
     sub_graph: {nodes: [], edges: []}}}
  - {id: which, data: {type: if-else, cases: [{case_id: a, logical_operator: and, conditions:
     [{variable_selector: [run, x], comparison_operator: not_empty, value: ""}]}]}}
  - {id: end, data: {type: end, outputs: [{variable: r, value_selector: [each, output]}]}}
edges:
  - {source: start, target: each}
  - {source: each, target: ask}
  - {source: ask, target: run}
  - {source: run, target: pick}
  - {source: pick, target: which}
  - {source: which, target: end, source_handle: a}
""",
    """
version: 0.3.0
kind: app
app: {name: Groups, mode: workflow, icon: x, icon_background: "#fff"}
dependencies: [{type: marketplace, value: {marketplace_plugin_unique_identifier: "langgenius/x:1@2"}}]
workflow:
  features: {opening_statement: Hi, suggested_questions: [a, b], file_upload: {enabled: true}}
  environment_variables: []
  conversation_variables: [{id: "1", name: n, value_type: number, value: 1}]
  graph:
    viewport: {x: 0, y: 0, zoom: 1}
    nodes:
      - {id: "1", type: custom, position: {x: 0, y: 0}, data: {type: start, title: Start, variables: []}}
      - id: "2"
        type: custom
        width: 100
        height: 50
        positionAbsolute: {x: 1, y: 2}
        data: {type: iteration, start_node_id: 2start, iterator_selector: ["1", sys.files],
               output_selector: [inner, text], is_parallel: true, parallel_nums: 10}
      - {id: 2start, type: custom-iteration-start, parentId: "2", data: {type: iteration-start, isInIteration: true}}
      - id: inner
        parentId: "2"
        data: {type: llm, isInIteration: true, iteration_id: "2", model: {provider: langgenius/openai/openai,
               name: m, mode: chat, completion_params: {temperature: 0.1}}, vision: {enabled: true, configs:
               {detail: high, variable_selector: [sys, files]}}, memory: {window: {enabled: true, size: 3}},
               prompt_template: [{role: system, text: "{{#context#}}"}, {role: user, text: "{{#2.item#}}",
               edition_type: jinja2, jinja2_text: "{{ x }}"}], context: {enabled: true, variable_selector: ["2", item]},
               prompt_config: {jinja2_variables: [{variable: x, value_selector: ["2", item]}]},
               structured_output_enabled: true, structured_output: {schema: {type: object, properties:
               {a: {type: array, items: {type: string}}}, required: [a]}}}
      - {id: join, data: {type: variable-aggregator, output_type: string, variables: [["2", output]],
         advanced_settings: {group_enabled: true, groups: [{groupId: g, group_name: G, output_type: string,
         variables: [["2", output], ["1", x]]}]}}}
      - {id: set, data: {type: assigner, version: "2", items: [{variable_selector: [conversation, n],
         operation: "+=", input_type: constant, value: 1}]}}
      - {id: old, data: {type: assigner, assigned_variable_selector: [conversation, n], write_mode: over-write,
         input_variable_selector: [join, G, output]}}
      - {id: call, data: {type: tool, provider_id: time, provider_type: builtin, provider_name: time,
         tool_name: current_time, tool_parameters: {x: {type: mixed, value: "{{#1.y#}}"}}, tool_configurations: {}}}
      - {id: think, data: {type: agent, agent_strategy_name: function_calling, agent_parameters: {model:
         {type: constant, value: {provider: x, model: y}}, tools: {type: constant, value: [{enabled: true,
         provider_name: time, tool_name: current_time, settings: {}, parameters: {}}]}, instruction:
         {type: constant, value: x}, query: {type: constant, value: "{{#sys.query#}}"}}}}
      - {id: form, data: {type: human-input, form_content: "{{#$output.a#}}", inputs: [{type: text_input,
         output_variable_name: a, default: {type: variable, selector: ["1", x]}}], user_actions:
         [{id: yes, title: Yes, button_style: primary}], timeout: 3, timeout_unit: hour,
         delivery_methods: [{id: m, type: email, enabled: true, config: {recipients: {}}}]}}
      - {id: note, type: custom-note, position: {x: 1, y: 1}, data: {text: '{"root":{"children":[]}}', theme: blue}}
      - {id: end, data: {type: end, outputs: [{variable: o, value_selector: [join, output]}]}}
    edges:
      - {id: a, source: "1", target: "2", sourceHandle: source, targetHandle: target, data: {}}
      - {id: b, source: 2start, target: inner}
      - {id: c, source: "2", target: join}
      - {id: d, source: join, target: set}
      - {id: e, source: set, target: old}
      - {id: f, source: old, target: call}
      - {id: g, source: call, target: think}
      - {id: h, source: think, target: form}
      - {id: i, source: form, target: end, sourceHandle: yes}
""",
    """
version: 0.1.5
kind: app
app: {name: Chat, mode: agent-chat}
model_config:
  agent_mode: {enabled: true, strategy: react, max_iteration: 3, tools: [{enabled: true, provider_name: time,
    provider_type: builtin, tool_name: current_time, tool_parameters: {a: x}}, {dataset: {enabled: true, id: d}}]}
  model: {provider: openai, name: gpt, mode: chat, completion_params: {stop: []}}
  pre_prompt: "{{a}} {{#query#}}"
  prompt_type: simple
  chat_prompt_config: {prompt: [{role: system, text: "{{a}}"}]}
  completion_prompt_config: {prompt: {text: "{{#context#}}"}}
  dataset_configs: {datasets: {datasets: [{dataset: {enabled: true, id: d}}]}, retrieval_model: multiple,
    reranking_model: {reranking_provider_name: x}, score_threshold_enabled: true, score_threshold: 0.5}
  user_input_form: [{paragraph: {variable: a, label: A}}, {select: {variable: b, options: [x]}}]
  file_upload: {image: {enabled: true, detail: high}}
  suggested_questions: [a]
  speech_to_text: {enabled: true}
""",
)
