"""The mark of outside text on its way: through every kind, through branches and rounds, and over turns."""

import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from memory.core.records import StoreParams, Tier
from memory.providers.in_memory import InMemoryProvider
from tests.engine.language.test_untrusted import SYSTEM, WEB, Page
from tests.support.cases import for_each
from tests.support.documents import (
    answer,
    assign,
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
from tests.support.engine import EchoModels, JinjaHere
from workflows.engine.earlier_turns import EarlierTurn
from workflows.engine.kinds import AnyKind, Execution
from workflows.engine.language.content_marks.untrusted import ContentFlow
from workflows.engine.language.document import Document, Mode
from workflows.engine.nodes import build_kinds
from workflows.engine.runtime.run_request import RunResult
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.runtime.step_records import RunStatus
from workflows.engine.runtime.waits import ALLOW, REFUSE, Answer


KINDS = build_kinds(plugins=[Page()])
TEXT = "Tea opens at nine"


# -- every kind ----------------------------------------------------------------------------------


@for_each("kind", KINDS.values(), ids=KINDS)
def test_node_of_every_kind_that_reads_outside_text_in_any_field_has_untrusted_outputs(
    kind: AnyKind,
) -> None:
    names = {field.name for field in kind.fields} | {*kind.config_model.model_fields}
    for name in sorted(names or {"any"}):
        for value in ("see {{#web.text#}}", ["web", "text"], {"a": [{"b": ["web", "text"]}]}):
            flow = ContentFlow([WEB, node("n", kind.name, **{name: value})], KINDS)

            assert "n" in flow.find_untrusted(), (kind.name, name, value)


@for_each(
    "kind",
    [kind for kind in KINDS.values() if kind.execution is Execution.PLAIN],
    ids=lambda kind: kind.name,
)
def test_node_of_every_kind_that_outside_text_chose_has_untrusted_outputs(kind: AnyKind) -> None:
    made = document(
        [WEB, branch("if", ["web", "text"], "yes"), node("n", kind.name), end()],
        ["web -> if", "if:true -> n", "n -> end", "if:false -> end"],
    )

    marked = ContentFlow(made.nodes, KINDS, made.edges).find_untrusted()

    assert {"n", "n#chosen"} <= marked
    assert "end" not in marked  # it runs whatever the branch chooses


# -- runs ----------------------------------------------------------------------------------------


def keep(value: Sequence[str] = ("start", "own"), name: str = "keep") -> Any:
    return node(name, "memory-store", scope="user", key="k", value_selector=[*value])


def build(nodes: Sequence[Any], edges: Sequence[str], **more: Any) -> Document:
    return document([start("q", "own"), *nodes], edges, **more)


BODIES = ("memory-store", "assigner")


def chain(*nodes: Any, **more: Any) -> Document:
    """The nodes one after the other, behind the start and the page."""
    ids = ["start", *(each.id for each in nodes if each.parent is None)]
    edges = [f"{a} -> {b}" for a, b in itertools.pairwise(ids)]
    edges += [
        f"{each.parent}start -> {each.id}" for each in nodes if each.parent and each.kind in BODIES
    ]
    return build(nodes, edges, **more)


LIST = ["web", "pages"]
ROUNDS = iteration("it", LIST, None)
COPIES: dict[str, Document] = {
    "a template": chain(WEB, template("t", "{{ a }}", a=["web", "text"]), keep(["t", "output"])),
    "an aggregator": chain(
        WEB, node("v", "variable-aggregator", variables=[["web", "text"]], output_type="string"),
        keep(["v", "output"])),
    "a model": chain(WEB, llm("say", ("user", "{{#web.text#}}")), keep(["say", "text"])),
    "a variable": chain(
        WEB, assign("a", "seen", "over-write", ["web", "text"], "variable"),
        keep(["conversation", "seen"]), conversation={"seen": ("string", "")}),
    "the item of a round": chain(
        WEB, *inside(ROUNDS, keep(["it", "item"])), end()),
    "a variable of a loop": chain(
        WEB, *inside(loop("lo", 1, {"x": ("string", "")}),
                     change("c", ["lo", "x"], "over-write", ["web", "text"])),
        keep(["lo", "x"])),
    "the key alone": chain(
        WEB, node("keep", "memory-store", scope="user", key="{{#web.text#}}",
                  value_selector=["start", "own"])),
}  # fmt: skip
CHOICES: dict[str, Document] = {
    "a branch": build(
        [WEB, branch("if", ["web", "text"], TEXT), keep(), end()],
        ["start -> web", "web -> if", "if:true -> keep", "keep -> end", "if:false -> end"]),
    "a branch by a copy": build(
        [WEB, template("t", "{{ a }}", a=["web", "text"]), branch("if", ["t", "output"], TEXT),
         keep(), end()],
        ["start -> web", "web -> t", "t -> if", "if:true -> keep", "keep -> end"]),
    "a branch in a branch": build(
        [WEB, branch("if", ["web", "text"], TEXT), branch("own", ["start", "own"], "mine"),
         keep(), end()],
        ["start -> web", "web -> if", "if:true -> own", "own:true -> keep", "keep -> end",
         "if:false -> end", "own:false -> end"]),
    "a variable that a branch set": build(
        [WEB, branch("if", ["web", "text"], TEXT),
         assign("a", "seen", "over-write", "yes", "constant"), keep(["conversation", "seen"])],
        ["start -> web", "web -> if", "if:true -> a", "a -> keep"],
        conversation={"seen": ("string", "")}),
    "rounds": chain(WEB, *inside(ROUNDS, keep()), end()),
    "a container behind a branch": build(
        [WEB, branch("if", ["web", "text"], TEXT),
         *inside(loop("lo", 1), keep()), end()],
        ["start -> web", "web -> if", "if:true -> lo", "lostart -> keep", "lo -> end"]),
}  # fmt: skip
CLEAN: dict[str, Document] = {
    "beside the page": chain(WEB, keep()),
    "behind every handle": build(
        [WEB, branch("if", ["web", "text"], TEXT), template("t", "x"), keep(["start", "own"])],
        ["start -> web", "web -> if", "if:true -> t", "t -> keep", "if:false -> keep"]),
    "a branch by the person's words": build(
        [WEB, branch("if", ["start", "own"], "mine"), keep(), end()],
        ["start -> web", "web -> if", "if:true -> keep", "keep -> end"]),
    "rounds over the person's list": chain(
        node("mine", "web-page-of-ours"), *inside(iteration("it", ["mine", "pages"], None), keep()), end()),
}  # fmt: skip


class Ours(Page):
    name = "web-page-of-ours"
    has_untrusted_outputs = False


async def run(
    made: Document, memory: InMemoryProvider, *, own: str = "mine", **given: Any
) -> RunResult:
    runner = WorkflowRunner(
        made,
        memory=memory,
        models=EchoModels(),
        templates=JinjaHere(),
        plugins=[Page(), Ours()],
        history=given.pop("history", None),
        workflows=given.pop("workflows", None),
    )
    inputs = {"q": TEXT, "own": own}
    return await runner.run(inputs=inputs, system=SYSTEM, **given)


def list_tiers(memory: InMemoryProvider) -> list[tuple[Tier, Any]]:
    return [(e.tier, e.metadata.get("origin")) for e in memory.living("user:mia").values()]


@for_each("way", [*COPIES, *CHOICES])
async def test_what_outside_text_reaches_or_chose_waits_for_a_review(way: str) -> None:
    memory = InMemoryProvider()

    result = await run({**COPIES, **CHOICES}[way], memory)

    assert result.status is RunStatus.SUCCEEDED, result.error
    assert list_tiers(memory) == [(Tier.QUARANTINE, "web")]


@pytest.mark.parametrize("way", CLEAN)
async def test_what_it_neither_reaches_nor_chose_is_stored_at_once(way: str) -> None:
    memory = InMemoryProvider()

    result = await run(CLEAN[way], memory)

    assert result.status is RunStatus.SUCCEEDED, result.error
    assert list_tiers(memory) == [(Tier.LONG_TERM, None)]


async def test_outputs_of_a_sub_workflow_keep_the_mark_and_its_inputs_bring_it() -> None:
    passing = document(
        [start("text"), keep(["start", "text"], "inner"), end(out=["start", "text"])],
        ["start -> inner", "inner -> end"],
    )
    call = node("sub", "sub-workflow", workflow="pass", inputs={"text": ["web", "text"]},
                outputs=[{"variable": "out", "value_type": "string"}])  # fmt: skip
    outer = chain(WEB, call, node("keep", "memory-store", scope="user", key="outer",
                                  value_selector=["sub", "out"]))  # fmt: skip
    memory = InMemoryProvider()

    result = await run(outer, memory, workflows={"pass": passing})

    assert result.status is RunStatus.SUCCEEDED, result.error
    assert list_tiers(memory) == [(Tier.QUARANTINE, "web")] * 2


# -- turns ---------------------------------------------------------------------------------------


class Past:
    def __init__(self, *turns: EarlierTurn) -> None:
        self.turns = turns

    async def list_turns(self, *, limit: int | None) -> Sequence[EarlierTurn]:
        return self.turns


def chat(*nodes: Any) -> Document:
    return chain(*nodes, answer("answer", "Done"), mode=Mode.CHAT)


WINDOWED = llm("say", ("system", "Help."), memory={"window": {"enabled": False}})


@pytest.mark.parametrize("is_untrusted", [True, False])
async def test_answer_of_an_earlier_turn_brings_its_mark(is_untrusted: bool) -> None:
    """Whoever reads the turns is told with the turn, also if it ended after this run began."""
    memory = InMemoryProvider()
    past = Past(EarlierTurn("What is new?", TEXT, is_untrusted))

    result = await run(chat(WINDOWED, keep(["say", "text"])), memory, history=past)

    expected = (Tier.QUARANTINE, "web") if is_untrusted else (Tier.LONG_TERM, None)
    assert list_tiers(memory) == [expected]
    assert result.has_untrusted_outputs is False


async def test_turn_leaves_the_mark_only_of_what_has_run() -> None:
    """A page on the branch that was not taken has left nothing in the conversation."""
    made = build(
        [branch("if", ["start", "own"], "read"), WEB, answer("page", "{{#web.text#}}"),
         answer("hello", "Hello")],
        ["start -> if", "if:true -> web", "web -> page", "if:false -> hello"],
        mode=Mode.CHAT,
    )  # fmt: skip

    hello = await run(made, InMemoryProvider(), own="greet")
    page = await run(made, InMemoryProvider(), own="read")

    assert (hello.outputs["answer"], hello.untrusted, hello.has_untrusted_outputs) == (
        "Hello",
        (),
        False,
    )
    assert (page.outputs["answer"], page.untrusted, page.has_untrusted_outputs) == (
        TEXT,
        ("sys.answers",),
        True,
    )


async def test_model_that_writes_facts_is_not_shown_untrusted_answers() -> None:
    facts = node(
        "keep", "memory-store", scope="user", source="facts", value_selector=["start", "own"]
    )
    past = Past(EarlierTurn("Hi", "Hello"), EarlierTurn("News?", "Pay to account 4711", True))
    models, memory = EchoModels(), InMemoryProvider()
    runner = WorkflowRunner(chat(facts), memory=memory, models=models, history=past)

    await runner.run(inputs={"own": "I drink green tea", "q": ""}, system=SYSTEM)

    [request] = models.requests
    assert "Hello" in request.messages[-1].text
    assert "4711" not in request.messages[-1].text


# -- forgetting ----------------------------------------------------------------------------------


def remembering() -> InMemoryProvider:
    memory = InMemoryProvider()
    memory.store(StoreParams("user:mia", TEXT, value="Ana likes tea"))
    return memory


FORGETS = {
    "a key from outside": chain(
        WEB, node("gone", "memory-delete", scope="user", key="{{#web.text#}}"), end(n=["gone", "deleted"])
    ),
    "a branch": build(
        [WEB, branch("if", ["web", "text"], TEXT), node("gone", "memory-delete", scope="user", key=TEXT),
         end(n=["gone", "deleted"])],
        ["start -> web", "web -> if", "if:true -> gone", "gone -> end"]),
}  # fmt: skip


@pytest.mark.parametrize("way", FORGETS)
@pytest.mark.parametrize(("action", "count"), [(ALLOW, 1), (REFUSE, 0)])
async def test_person_is_asked_before_outside_text_forgets(
    way: str, action: str, count: int
) -> None:
    memory = remembering()
    runner = WorkflowRunner(FORGETS[way], memory=memory, plugins=[Page()])

    paused = runner.start(inputs={"q": TEXT, "own": ""}, system=SYSTEM)
    [wait] = (await paused.result()).open_waits
    form: Any = wait.wait.form
    assert (form["type"], form["tool"], form["arguments"]) == (
        "approval",
        "forget",
        {"scope": "user", "key": TEXT, "memories": [{"key": TEXT, "value": "Ana likes tea"}]},
    )
    assert len(memory.living("user:mia")) == 1
    result = await runner.resume(paused, {wait.key: Answer({}, action)}).result()

    assert result.outputs == {"n": count}
    assert len(memory.living("user:mia")) == 1 - count


async def test_key_of_the_author_is_forgotten_without_a_question() -> None:
    memory = remembering()
    made = chain(
        WEB, node("gone", "memory-delete", scope="user", key=TEXT), end(n=["gone", "deleted"])
    )

    result = await run(made, memory)

    assert result.outputs == {"n": 1}
