"""Random gestures on a draft: what two people might do to one workflow."""

from itertools import count
from random import Random

from workflows.engine.editing import (
    Context,
    EditRefused,
    EditResult,
    InMemoryStore,
    Op,
    perform,
    read_ops,
)
from workflows.engine.language.dsl import load_document
from workflows.engine.nodes import build_kinds


KINDS = build_kinds()

FRAGMENT = """
nodes:
  - id: p1
    type: custom
    position: {x: 0, y: 0}
    data: {type: llm, title: Pasted, prompt_template: [{role: user, text: "{{#p2.output#}} {{#l1.text#}}"}]}
  - id: p2
    type: custom
    position: {x: 100, y: 0}
    data: {type: template-transform, title: T, template: x, variables: [{variable: a, value_selector: [p1, text]}]}
edges:
  - {id: pe, source: p1, sourceHandle: source, target: p2, targetHandle: target}
"""


def node(id_, kind, x, y, parent=None, **data):
    tree = {
        "id": id_,
        "type": "custom",
        "position": {"x": x, "y": y},
        "data": {"type": kind, "title": id_, **data},
    }
    if parent:
        tree |= {"parentId": parent, "positionAbsolute": {"x": x, "y": y}}
        tree["data"] |= {"isInIteration": True, "iteration_id": parent}
    return tree


def edge(source, target, handle="source"):
    return {
        "id": f"{source}-{handle}-{target}-target",
        "source": source,
        "sourceHandle": handle,
        "target": target,
        "targetHandle": "target",
        "data": {"isInIteration": False},
    }


DOCUMENT = load_document(
    {
        "version": "0.4.0",
        "kind": "app",
        "app": {"name": "Two people", "mode": "workflow"},
        "workflow": {
            "features": {"opening_statement": "Hello", "suggested_questions": ["a", "b", "c"]},
            "environment_variables": [{"name": "KEY", "value_type": "string", "value": "k"}],
            "conversation_variables": [
                {"name": "seen", "value_type": "array[string]", "value": ["x"]}
            ],
            "graph": {
                "nodes": [
                    node("s", "start", 0, 0, variables=[{"variable": "q", "type": "text-input"}]),
                    node(
                        "l1",
                        "llm",
                        300,
                        0,
                        prompt_template=[
                            {"role": "system", "text": "{{#s.q#}}"},
                            {"role": "user", "text": "{{#env.KEY#}}"},
                        ],
                    ),
                    node("l2", "llm", 300, 200, prompt_template=[{"role": "user", "text": "x"}]),
                    node("c", "if-else", 600, 0, cases=[{"case_id": "true", "conditions": []}]),
                    node("it", "iteration", 900, 0, start_node_id="itstart"),
                    node("itstart", "iteration-start", 24, 68, "it"),
                    node("in", "template-transform", 120, 68, "it", template="x"),
                    node("e", "end", 1300, 0, outputs=[]),
                    {
                        "id": "n",
                        "type": "custom-note",
                        "position": {"x": 0, "y": 300},
                        "width": 240,
                        "height": 90,
                        "data": {"type": "", "text": "A note", "theme": "blue"},
                    },
                ],
                "edges": [
                    edge("s", "l1"),
                    edge("s", "l2"),
                    edge("l1", "c"),
                    edge("c", "it", "true"),
                    edge("c", "e", "false"),
                    edge("itstart", "in"),
                    edge("it", "e"),
                ],
            },
        },
    }
).document


def context(prefix: str = "x") -> Context:
    numbers = count(1)
    return Context(KINDS, lambda _kind: f"{prefix}{next(numbers)}")


def random_gesture(rng: Random, store: InMemoryStore, prefix: str) -> list[dict]:
    return [random_op(rng, store, prefix) for _ in range(rng.choice([1, 1, 1, 2, 3]))]


def random_op(rng: Random, store: InMemoryStore, prefix: str) -> dict:
    return rng.choice(MAKERS)(rng, store, prefix)


def act(store: InMemoryStore, rng: Random, prefix: str, ctx: Context) -> EditResult | None:
    """A gesture that the language allows, or None; the store is changed only by the former."""
    asked: tuple[Op, ...] = read_ops(random_gesture(rng, store, prefix))
    trial = InMemoryStore(store.build_document())
    try:
        perform(trial, asked, context(prefix + "t"))
        return perform(store, asked, ctx)
    except EditRefused:
        return None


HOT = ("l1", "l1", "it", "in")  # where people meet


def _item(rng, store):
    if rng.random() < 0.6:
        return rng.choice(HOT)
    return rng.choice(sorted(store.items)) if store.items else "nobody"


def _place(rng):
    return {"x": rng.choice([0, 24, 80, 300.5]), "y": rng.choice([0, 68, 200, -40.25])}


def _add(rng, store, prefix):
    kind = rng.choice(["llm", "template-transform", "if-else", "iteration", "answer"])
    parent = rng.choice([None, None, "it"])
    new = {"id": f"{prefix}_{rng.randrange(10**6)}", "kind": kind, **_place(rng)}
    return {"op": "add", "node": {**new, "parent": parent} if parent else new}


def _note(rng, store, prefix):
    note = {"id": f"{prefix}n_{rng.randrange(10**6)}", **_place(rng), "width": 240, "height": 90}
    return {"op": "note", "note": {**note, "data": {"text": "Hm", "theme": "pink"}}}


def _delete(rng, store, prefix):
    return {"op": "delete", "id": _item(rng, store), "heal": rng.random() < 0.5}


def _move(rng, store, prefix):
    return {"op": "move", "id": _item(rng, store), **_place(rng)}


def _set(rng, store, prefix):
    path = rng.choice(
        [
            ["desc"],
            ["model", "name"],
            ["prompt_template", 0, "text"],
            ["prompt_template", 1, "text"],
            ["prompt_template", 1],
            ["deep", "er", "still"],
            ["deep", "er"],
            ["template"],
        ]
    )
    id_ = _item(rng, store)
    way = rng.random()
    if way < 0.2:
        return {"op": "set", "id": id_, "path": path, "remove": True}
    if way < 0.35:
        new = {"role": "user", "text": rng.choice("uvw")}
        path = ["prompt_template", rng.choice([0, 1, 2])]
        return {"op": "set", "id": id_, "path": path, "value": new, "insert": True}
    value = rng.choice(["a", "b", 1, True, None, {"still": "c"}, [1, 2]])
    return {"op": "set", "id": id_, "path": path, "value": value}


def _rename(rng, store, prefix):
    return {"op": "rename", "id": _item(rng, store), "title": rng.choice(["A", "B", "C"])}


def _connect(rng, store, prefix):
    handle = rng.choice(["source", "source", "true", "false"])
    ends = {"source": _item(rng, store), "target": _item(rng, store)}
    return {"op": "connect", "edge": {**ends, "handle": handle}}


def _disconnect(rng, store, prefix):
    return {"op": "disconnect", "id": rng.choice(sorted(store.edges)) if store.edges else "none"}


def _reparent(rng, store, prefix):
    parent = rng.choice([None, "it", _item(rng, store)])
    return {"op": "reparent", "id": _item(rng, store), "parent": parent, **_place(rng)}


def _resize(rng, store, prefix):
    size = {"width": rng.choice([240, 400.5]), "height": rng.choice([90, 300])}
    return {"op": "resize", "id": _item(rng, store), **size}


def _paste(rng, store, prefix):
    parent = rng.choice([None, "it"])
    return {"op": "paste", "text": FRAGMENT, **_place(rng), "parent": parent}


def _tidy(rng, store, prefix):
    ids = [_item(rng, store) for _ in range(rng.choice([0, 3]))]
    return {"op": "tidy", "ids": ids, "scope": None if ids else rng.choice([None, "it"])}


def _variable(rng, store, prefix):
    area, name = rng.choice(
        [("environment", "KEY"), ("conversation", "seen"), ("environment", "NEW")]
    )
    way = rng.random()
    if way < 0.3:
        return {"op": "variable", "area": area, "name": name, "spec": None}
    if way < 0.5:
        return {"op": "variable", "area": area, "name": name, "rename": rng.choice(["Q", "R"])}
    spec = {"value_type": "string", "value": rng.choice(["a", "b"])}
    return {"op": "variable", "area": area, "name": name, "spec": spec}


def _feature(rng, store, prefix):
    path, value = rng.choice(
        [
            (["opening_statement"], "Hi"),
            (["suggested_questions", 0], "d"),
            (["suggested_questions", 3], "e"),
            (["file_upload", "enabled"], True),
        ]
    )
    if rng.random() < 0.3:
        return {"op": "feature", "path": path, "remove": True}
    return {"op": "feature", "path": path, "value": value}


MAKERS = [
    _add,
    _add,
    _note,
    _delete,
    _delete,
    _move,
    _move,
    _set,
    _set,
    _set,
    _rename,
    _connect,
    _connect,
    _disconnect,
    _reparent,
    _resize,
    _paste,
    _tidy,
    _variable,
    _feature,
]
