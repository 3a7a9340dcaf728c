"""Worlds whose pages say different things, in which a conversation goes the same way otherwise."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from memory.core.records import StoreParams, Tier
from memory.providers.in_memory import InMemoryProvider
from tests.engine.agent.scripted import Tools, call
from tests.support.engine import EchoModels, JinjaHere, PythonHere
from workflows.engine.earlier_turns import EarlierTurn
from workflows.engine.errors import NodeFailed
from workflows.engine.kinds import NodeConfig, NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.document import Document
from workflows.engine.ports import ModelChunk, ModelRequest, Usage
from workflows.engine.runtime.run_request import RunResult
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.runtime.step_records import StepStatus
from workflows.engine.runtime.waits import REFUSE, Answer, Wait
from workflows.engine.testing.case_runs import CaseHistory
from workflows.engine.tool_calls import ToolCall
from workflows.engine.tools.local_tool import build_error


# What a page says: a text, and a list of texts; or nothing at all, as its server fails.
PAGES: Final[Mapping[str, tuple[str, Sequence[str]] | None]] = {
    "alpha": ("alpha", ["alpha"]),
    "beta": ("beta", ["beta", "beta", "gamma"]),
    "empty": ("", []),
    "fails": None,
}
# The pages of the first turn, and those of later ones.
WORLDS: Final = (
    ("alpha", "alpha"), ("beta", "beta"), ("empty", "empty"), ("fails", "fails"),
    ("beta", "alpha"), ("fails", "alpha"),
)  # fmt: skip
NAMESPACES: Final = ("user:mia", "global:wiki", "conv:c1")
OWN_ENTRIES: Final = ("own1", "own2", "alpha", "beta", "forget0", "forget1")
_MOMENTS: Final = ("id", "created_at", "updated_at")
_MESSAGES: Final = "messages"
# The tools of agents, with the arguments of a call. One reads a page.
FETCH: Final = "fetch"
CALLS: Final = {FETCH: ("url",), "remember": ("key", "value"), "forget": ("key",)}


class Page(NodeKind[NodeConfig, NodeConfig]):
    name = "page"
    title = "Page"
    has_untrusted_outputs = True

    def __init__(self, page: str) -> None:
        self.page = PAGES[page]

    def list_outputs(self, spec: Any) -> tuple[Output, ...]:
        return (Output("text", "string"), Output("list", "array[string]"))

    def run(self, prepared: NodeConfig, ctx: NodeContext) -> NodeResult:
        if self.page is None:
            raise NodeFailed("PageFailed", "The page can't be reached")
        return NodeResult({"text": self.page[0], "list": self.page[1]})


class Report(Page):
    """Only its step says that it has read outside, as that of an agent does."""

    name = "report"
    has_untrusted_outputs = False
    records_untrusted_content = True

    def run(self, prepared: NodeConfig, ctx: NodeContext) -> NodeResult:
        ctx.record_untrusted_keys(["page"])
        return super().run(prepared, ctx)


class Models(EchoModels):
    """Repeats what it was asked; of the same words it makes the same class, and the same calls."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        words = " ".join(message.text for message in request.messages[-3:])
        if calls := self._choose_calls(request):
            yield ModelChunk(tool_calls=calls, finish_reason="tool_calls", usage=Usage(1, 1))
            return
        yield ModelChunk(text=self._answer(request.messages[0].text, words))
        yield ModelChunk(finish_reason="stop", usage=Usage(1, 1))

    @staticmethod
    def _choose_calls(request: ModelRequest) -> tuple[ToolCall, ...]:
        """Return the calls of an agent, which its words decide, until it has made three of them."""
        number = sum(message.role == "tool" for message in request.messages)
        names = [tool.name for tool in request.tools if tool.name in CALLS]
        if not names or number >= 3:
            return ()
        words = "".join(message.text for message in request.messages)
        name = names[sum(map(ord, words)) % len(names)]
        arguments = {"key": f"{name}{number}", "value": words[-40:], "url": words[-9:]}
        fitting = {each: arguments[each] for each in CALLS[name]}
        return (call(name, f"id{number}", **fitting),)

    @staticmethod
    def _answer(task: str, words: str) -> str:
        if "category_id" in task:
            number = sum(map(ord, words)) % 2
            return json.dumps(
                {"category_name": ["first", "second"][number], "category_id": str(number + 1)}
            )
        return json.dumps({"value": words[-40:]}) if "JSON" in task else words


def build_tools(page: str) -> Tools:
    """Return the tool with which agents read the page, as a server of strangers that has any arguments."""
    said = PAGES[page]
    tools = Tools(fetch=lambda url="": said[0] if said else build_error("It can't be reached"))
    tools.trusted = False
    tools.schemas[FETCH] = {"type": "object", "properties": {"url": {"type": "string"}}}
    return tools


@dataclass
class Conversation:
    """A conversation in one world, and its memory, in which the person has stored something before."""

    document: Document
    workflows: Mapping[str, Document]
    memory: InMemoryProvider = field(default_factory=InMemoryProvider)
    history: CaseHistory = field(default_factory=CaseHistory)
    variables: Mapping[str, Any] = field(default_factory=dict)
    untrusted: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for key in OWN_ENTRIES:
            self.memory.store(StoreParams("user:mia", key, value=f"mine {key}"))

    async def take_turn(self, query: str, page: str) -> bool:
        """Return whether the turn came to its end. What a run that was cut off has left out isn't followed."""
        result = await self._run(query, page)
        if not result.is_successful or any(map(_is_lost_call, result.steps)):
            return False
        self.variables = result.conversation
        self.untrusted |= {*result.untrusted}
        answer = result.outputs.get("answer", "")
        self.history.exchanges.append(EarlierTurn(query, answer, result.has_untrusted_outputs))
        return True

    async def _run(self, query: str, page: str) -> RunResult:
        runner = WorkflowRunner(
            self.document,
            memory=self.memory,
            models=Models(),
            templates=JinjaHere(),
            code=PythonHere(),
            plugins=[Page(page), Report(page)],
            tools=build_tools(page),
            history=self.history,
            workflows=self.workflows,
            max_steps=400,
        )
        system = {"user_id": "mia", "conversation_id": "c1", "app_id": "wiki", "query": query}
        handle = runner.start(
            inputs={"own": "mine"},
            system=system,
            conversation=self.variables,
            untrusted=self.untrusted,
        )
        result = await handle.result()
        while result.open_waits:
            answers = {each.key: answer_wait(each.wait) for each in result.open_waits}
            handle = runner.resume(handle, answers)
            result = await handle.result()
        return result


@dataclass(frozen=True)
class Stored:
    """The entries without a mark by namespace and key, and the keys of those with one. Messages count as one entry."""

    clean: Mapping[tuple[str, str], Sequence[str]]
    marked: frozenset[tuple[str, str]]


def answer_wait(wait: Wait) -> Answer:
    """Return the answer of a person: a form as it is, and no to anything else."""
    form: Any = wait.form
    if form["type"] != "form":
        return Answer({}, REFUSE)
    return Answer({item["name"]: item.get("default") or "" for item in form["inputs"]}, "yes")


async def live(
    document: Document, workflows: Mapping[str, Document], pages: tuple[str, str], turns: int
) -> Stored | None:
    """Return what memory has at the end of a conversation, or None if a turn was cut off."""
    conversation = Conversation(document, workflows)
    for number in range(turns):
        if not await conversation.take_turn(f"turn {number}", pages[min(number, 1)]):
            return None
    return list_stored(conversation.memory)


def list_stored(memory: InMemoryProvider) -> Stored:
    clean: dict[tuple[str, str], list[str]] = {}
    marked = set()
    for namespace in NAMESPACES:
        for key, entry in memory.living(namespace).items():
            place = (namespace, _MESSAGES if "message:" in key else key.removeprefix("held:"))
            if entry.metadata.get("origin") == "web" or entry.tier is Tier.QUARANTINE:
                marked.add(place)
            else:
                clean.setdefault(place, []).append(_describe_value(entry.value))
    return Stored({place: sorted(values) for place, values in clean.items()}, frozenset(marked))


def find_influenced(worlds: Sequence[Stored]) -> list[tuple[str, str]]:
    """Return the entries without a mark that differ between worlds, where they have none or don't exist."""
    places = {place for world in worlds for place in world.clean}
    return sorted(
        place
        for place in places
        if len({str(w.clean.get(place)) for w in worlds if place in w.clean or place not in w.marked}) > 1
    )  # fmt: skip


async def compare(
    document: Document, workflows: Mapping[str, Document], turns: int
) -> list[tuple[str, str]] | None:
    """Return what pages have changed in memory without leaving a mark; None if fewer than two worlds can be compared."""
    worlds = [await live(document, workflows, pages, turns) for pages in WORLDS]
    whole = [world for world in worlds if world is not None]
    return find_influenced(whole) if len(whole) > 1 else None


def _is_lost_call(step: Any) -> bool:
    return step.kind == "sub-workflow" and step.status is not StepStatus.SUCCEEDED


def _describe_value(value: Any) -> str:
    if isinstance(value, Mapping):
        value = {name: item for name, item in value.items() if name not in _MOMENTS}
    return str(value)
