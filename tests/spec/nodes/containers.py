"""Rows about iterations and loops."""

from typing import Any

from tests.spec.nodes.rows import Row
from tests.support.documents import (
    answer,
    branch,
    change,
    document,
    end,
    inside,
    iteration,
    llm,
    loop,
    node,
    start,
    template,
)
from workflows.engine.language.document import Mode, NodeSpec
from workflows.engine.testing.backends import Request


LETTERS = ("array[string]", ["a", "b", "c"])
PARALLEL: dict[str, Any] = {"is_parallel": True, "parallel_nums": 2}
MODES = ("terminated", "continue-on-error", "remove-abnormal-output")
SPREAD: dict[str, Any] = {**PARALLEL, "distributed": True}


def _over(over: Any, *body: NodeSpec, edges: list[str], result: list[str], **data: Any) -> Any:
    """start → an iteration over conversation.v → end."""
    kind = "array[any]" if isinstance(over, list) else "string"
    return document(
        [
            start("q"),
            *inside(iteration("it", ["conversation", "v"], result, **data), *body),
            end(o=["it", "output"]),
        ],
        ["start -> it", "it -> end", *edges],
        conversation={"v": (kind, over)},
    )


def _each(name: str, over: Any, expected: Any, *, status: str = "succeeded", **data: Any) -> Row:
    made = _over(over, template("t", "{{ i }}{{ x }}", i=["it", "index"], x=["it", "item"]),
                 edges=["itstart -> t"], result=["t", "output"], **data)  # fmt: skip
    outputs = {} if status == "failed" else {"o": expected}
    return Row(f"iteration, {name}", Request(made), outputs, status=status)


def _failing(mode: str, expected: Any, status: str, **data: Any) -> Row:
    """The round of "b" goes to a branch whose node fails."""
    body = [branch("if", ["it", "item"], "b"), branch("bad", ["ghost", "x"], "1"),
            template("good", "{{ x }}!", x=["it", "item"])]  # fmt: skip
    made = _over(["a", "b", "c"], *body, edges=["itstart -> if", "if:true -> bad", "if:false -> good"],
                 result=["good", "output"], error_handle_mode=mode, **data)  # fmt: skip
    outputs = {} if status == "failed" else {"o": expected}
    way = "spread" if "distributed" in data else "parallel" if data else "in turn"
    return Row(f"iteration, a round fails, {mode}, {way}", Request(made), outputs, status=status)


def _lists(flatten: bool, expected: Any, **data: Any) -> Row:
    made = _over([["a", "b"], ["c"], None, []], edges=[], result=["it", "item"],
                 flatten_output=flatten, **data)  # fmt: skip
    name = f"iteration, lists, flatten {flatten} {sorted(data)}"
    return Row(name, Request(made), {"o": expected})


def _set_by_rounds(**data: Any) -> Row:
    """Each round sets a conversation variable from results of the steps before the iteration."""
    made = document(
        [
            start("q"),
            template("before", "{{ q }}!", q=["start", "q"]),
            *inside(
                iteration("it", ["conversation", "v"], ["t", "output"], **data),
                change("set", ["conversation", "n"], "over-write", ["before", "output"]),
                template("t", "{{ n }}{{ b }}", n=["conversation", "n"], b=["sys", "user_id"]),
            ),
            end(o=["it", "output"], n=["conversation", "n"]),
        ],
        ["start -> before", "before -> it", "itstart -> set", "set -> t", "it -> end"],
        conversation={"v": LETTERS, "n": ("string", "")},
    )
    request = Request(made, inputs={"q": "hi"}, system={"user_id": "-u"})
    return Row(f"iteration, rounds set a variable {sorted(data)}", request,
               {"o": ["hi!-u"] * 3, "n": "hi!"}, conversation={"n": "hi!"})  # fmt: skip


def _counted_back(**data: Any) -> Row:
    """Each round adds to a conversation variable, which comes back from it."""
    made = document(
        [
            start(),
            *inside(
                iteration("it", ["conversation", "v"], ["t", "output"], **data),
                change("add", ["conversation", "n"], "+=", 1),
                template("t", "{{ n }}", n=["conversation", "n"]),
            ),
            end(o=["it", "output"], n=["conversation", "n"]),
        ],
        ["start -> it", "itstart -> add", "add -> t", "it -> end"],
        conversation={"v": LETTERS, "n": ("number", 10)},
    )
    return Row("iteration, conversation variables come back", Request(made),
               {"o": ["11", "12", "13"], "n": 13}, conversation={"n": 13})  # fmt: skip


def _answers_in_iteration(**data: Any) -> Row:
    made = document(
        [
            start(),
            *inside(
                iteration("it", ["conversation", "v"], ["it", "item"], **data),
                llm("m", ("user", "{{#it.item#}}")),
                answer("say", "<{{#it.item#}} {{#m.text#}}>"),
            ),
            answer("done", "done"),
        ],
        ["start -> it", "itstart -> m", "m -> say", "it -> done"],
        mode=Mode.CHAT,
        conversation={"v": LETTERS},
    )
    said = "<a x y><b x y><c x y>done"
    mocks = {"m": {"outputs": {"text": "x y"}}}
    return Row(f"iteration, answers of every round {sorted(data)}", Request(made, mocks=mocks),
               {"answer": said}, stream=said)  # fmt: skip


def _count(
    name: str,
    expected: dict[str, Any],
    stops: Any = (),
    count: int = 5,
    first: Any = "0",
    **more: Any,
) -> Row:
    made = document(
        [
            start("q"),
            *inside(
                loop("lp", count, {"n": ("number", first)}, stops, **more),
                change("add", ["lp", "n"], "+=", 1),
            ),
            end(n=["lp", "n"], r=["lp", "loop_round"]),
        ],
        ["start -> lp", "lpstart -> add", "lp -> end"],
    )
    return Row(f"loop, {name}", Request(made, inputs={"q": 3}, checked=True), expected)


def _left_early() -> Row:
    """The second branch reaches the loop's end; the node beside it still runs in that round."""
    made = document(
        [
            start(),
            *inside(
                loop("lp", 9, {"n": ("number", 0), "seen": ("string", "")}),
                change("add", ["lp", "n"], "+=", 1),
                branch("if", ["conversation", "no"], "yes"),
                template("text", "{{ n }}", n=["lp", "n"]),
                branch("two", ["text", "output"], "2"),
                node("leave", "loop-end"),
                change("note", ["lp", "seen"], "over-write", ["text", "output"]),
            ),
            end(n=["lp", "n"], seen=["lp", "seen"], r=["lp", "loop_round"]),
        ],
        ["start -> lp", "lpstart -> add", "add -> text", "text -> two", "two:true -> leave",
         "text -> note", "add -> if", "lp -> end"],
        conversation={"no": ("string", "")},
    )  # fmt: skip
    return Row("loop, left at its end node", Request(made), {"n": 2, "seen": "2", "r": 2})


def _body_forgotten() -> Row:
    """What a node gave in one round isn't there in the next, when it is skipped."""
    made = document(
        [
            start(),
            *inside(
                loop("lp", 3, {"n": ("number", 0), "all": ("array[string]", "[]")}),
                change("add", ["lp", "n"], "+=", 1),
                template("text", "{{ n }}", n=["lp", "n"]),
                branch("first", ["text", "output"], "1"),
                template("once", "once"),
                node("agg", "variable-aggregator", variables=[["once", "output"], ["text", "output"]]),
                change("keep", ["lp", "all"], "append", ["agg", "output"]),
            ),
            end(all=["lp", "all"]),
        ],
        ["start -> lp", "lpstart -> add", "add -> text", "text -> first", "first:true -> once",
         "once -> agg", "first:false -> agg", "agg -> keep", "lp -> end"],
    )  # fmt: skip
    return Row("loop, a round starts afresh", Request(made), {"all": ["once", "2", "3"]})


def _answers_in_loop() -> Row:
    made = document(
        [
            start("q"),
            *inside(
                loop("lp", 3, {"n": ("number", 0)}, [("n", "≥", "2")]),
                change("add", ["lp", "n"], "+=", 1),
                llm("m"),
                answer("say", "{{#lp.n#}}: {{#m.text#}}; "),
            ),
            answer("done", "in all {{#lp.n#}}"),
        ],
        ["start -> lp", "lpstart -> add", "add -> m", "m -> say", "lp -> done"],
        mode=Mode.CHAT,
    )
    said = "1: x y; 2: x y; in all 2"
    mocks = {"m": {"outputs": {"text": "x y"}}}
    return Row(
        "loop, answers of every round", Request(made, mocks=mocks), {"answer": said}, stream=said
    )


def _nested(**data: Any) -> Row:
    """An iteration in a loop in an iteration: numbers of all three in one text."""
    inner = inside(
        iteration("inner", ["conversation", "v"], ["t", "output"], **data),
        template(
            "t", "{{ x }}{{ n }}{{ y }}", x=["outer", "item"], n=["lp", "n"], y=["inner", "item"]
        ),
    )
    middle = inside(
        loop("lp", 2, {"n": ("number", 0), "all": ("array[string]", [])}),
        change("add", ["lp", "n"], "+=", 1),
        *inner,
        change("keep", ["lp", "all"], "extend", ["inner", "output"]),
    )
    outer = inside(iteration("outer", ["conversation", "v"], ["lp", "all"], **data), *middle)
    made = document(
        [start(), *outer, end(o=["outer", "output"])],
        ["start -> outer", "outerstart -> lp", "lpstart -> add", "add -> inner", "innerstart -> t",
         "inner -> keep", "outer -> end"],
        conversation={"v": ("array[string]", ["a", "b"])},
    )  # fmt: skip
    expected = ["a1a", "a1b", "a2a", "a2b", "b1a", "b1b", "b2a", "b2b"]
    return Row(f"containers three deep {sorted(data)}", Request(made), {"o": expected})


def _handled(**data: Any) -> Row:
    """A failed iteration goes the way its own error strategy says."""
    made = document(
        [
            start(),
            *inside(
                iteration(
                    "it",
                    ["conversation", "v"],
                    ["bad", "result"],
                    error_strategy="fail-branch",
                    **data,
                ),
                branch("bad", ["ghost", "x"], "1"),
            ),
            template("sorry", "{{ e }}", e=["it", "error_message"]),
            end("e1", o=["sorry", "output"]),
            end("e2", o=["it", "output"]),
        ],
        ["start -> it", "itstart -> bad", "it:fail-branch -> sorry", "sorry -> e1", "it -> e2"],
        conversation={"v": LETTERS},
    )
    return Row(f"iteration, its failure goes its own way {sorted(data)}", Request(made),
               {"o": "Variable ghost.x not found"}, status="partial-succeeded")  # fmt: skip


def _of_null(name: str, **data: Any) -> Row:
    """The list is a field of the form that nobody filled in."""
    made = document(
        [start("q"), *inside(iteration("it", ["start", "q"], ["it", "item"], **data)), end(o=["it", "output"])],
        ["start -> it", "it -> end"],
    )  # fmt: skip
    return Row(f"iteration, of null, {name}", Request(made), {"o": []})


def _nothing_in_an_iteration() -> Row:
    inner = inside(iteration("in", ["out", "item"], ["in", "item"], **PARALLEL))
    outer = iteration("out", ["conversation", "v"], ["in", "output"], flatten_output=False)
    made = document(
        [start("q"), *inside(outer, *inner), end(o=["out", "output"])],
        ["start -> out", "outstart -> in", "out -> end"],
        conversation={"v": ("array[any]", [[], ["a"]])},
    )
    return Row("iteration of nothing at once, in another one", Request(made), {"o": [[], ["a"]]})


def _nothing_in_a_loop() -> Row:
    inner = inside(iteration("in", ["conversation", "v"], ["in", "item"], **PARALLEL))
    outer = loop("lp", 2, {"n": ("number", 0)})
    made = document(
        [start("q"), *inside(outer, *inner, change("add", ["lp", "n"], "+=", 1)), end(n=["lp", "n"])],
        ["start -> lp", "lpstart -> in", "in -> add", "lp -> end"],
        conversation={"v": ("array[any]", [])},
    )  # fmt: skip
    return Row("iteration of nothing at once, in a loop", Request(made), {"n": 2})


ROWS = [
    _each("in turn", ["a", "b", "c"], ["0a", "1b", "2c"]),
    _each("at once, in the order of the list", ["a", "b", "c"], ["0a", "1b", "2c"], **PARALLEL),
    _each("of nothing", [], []),
    _each("at once, of nothing", [], [], **PARALLEL),
    *(_each(f"at once, of nothing, {mode}", [], [], error_handle_mode=mode, **PARALLEL) for mode in MODES),
    *(_of_null(f"at once, {mode}", error_handle_mode=mode, **PARALLEL) for mode in MODES),
    _of_null("in turn"),
    _nothing_in_an_iteration(),
    _nothing_in_a_loop(),
    _each("not of a list", "abc", None, status="failed"),
    _each("more than allowed", ["a", "b"], None, status="failed", max_iterations=1),
    _failing("terminated", None, "failed"),
    _failing("continue-on-error", ["a!", None, "c!"], "partial-succeeded"),
    _failing("remove-abnormal-output", ["a!", "c!"], "partial-succeeded"),
    _failing("terminated", None, "failed", **PARALLEL),
    _failing("continue-on-error", ["a!", None, "c!"], "partial-succeeded", **PARALLEL),
    _failing("remove-abnormal-output", ["a!", "c!"], "partial-succeeded", **PARALLEL),
    _lists(True, ["a", "b", "c"]),
    _lists(False, [["a", "b"], ["c"], None, []]),
    _counted_back(),
    _answers_in_iteration(),
    _answers_in_iteration(is_parallel=True, parallel_nums=1),
    _handled(),
    _count("to its last round", {"n": 5, "r": 5}),
    _count("until a condition holds", {"n": 2, "r": 2}, [("n", "≥", "2")]),
    _count("of no round", {"n": 0, "r": None}, [("n", "≥", "0")]),
    _count("begins with a variable", {"n": 5, "r": 2}, [("n", "=", "5")], first=("start", "q")),
    _count("either condition", {"n": 3, "r": 3}, [("n", ">", "100"), ("n", "=", "3")], logical_operator="or"),
    _left_early(),
    _body_forgotten(),
    _answers_in_loop(),
    _nested(),
    _nested(**SPREAD),
    _each("spread, in the order of the list", ["a", "b", "c"], ["0a", "1b", "2c"], **SPREAD),
    _each("spread, of nothing", [], [], **SPREAD),
    _failing("terminated", None, "failed", **SPREAD),
    _failing("continue-on-error", ["a!", None, "c!"], "partial-succeeded", **SPREAD),
    _failing("remove-abnormal-output", ["a!", "c!"], "partial-succeeded", **SPREAD),
    _lists(True, ["a", "b", "c"], **SPREAD),
    _set_by_rounds(),
    _set_by_rounds(**SPREAD),
    _answers_in_iteration(**SPREAD),
    _handled(**SPREAD),
]  # fmt: skip
