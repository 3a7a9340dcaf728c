"""The values of tool calls: what a tool is, how a model calls it, and what it answers.

A model sees a tool as a ``ToolSpec`` and answers with ``ToolCall``; the engine finds the tool by its ``ToolReference``
and gives the model the ``ToolResult``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

from workflows.engine.language.document import Json


ToolSource = Literal["builtin", "memory", "workflow", "openapi", "mcp", "plugin"]

# The name in a reference to every tool of its provider.
ALL_TOOLS: Final = "*"


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model sees it. ``parameters`` is a JSON schema of type object.

    ``title`` is the name in texts for models and people if it differs from ``name``, which model APIs restrict:
    ``desktop.run``. ``aliases`` are other names that a model may write in a text: what people call the tool.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Json] = field(default_factory=dict)
    title: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return self.title or self.name


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's call of a tool. ``arguments`` is the text that the model wrote, which need not be valid JSON."""

    id: str
    name: str
    arguments: str = "{}"


@dataclass(frozen=True, slots=True)
class ToolReference:
    """Identifies a tool in a document: where it comes from, by whom it is offered, and its name there.

    ``provider`` is the slug of a workflow or of a connection of the team; built-in tools have none.
    """

    source: ToolSource
    name: str
    provider: str = ""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a step may call."""

    reference: ToolReference
    spec: ToolSpec
    # A person has to agree to each call.
    needs_approval: bool = False
    # Its results are untrusted, such as text from the web or from another company's server.
    is_untrusted: bool = True
    # Arguments that are set already, which the model neither sees nor replaces.
    settings: Mapping[str, Json] = field(default_factory=dict)
    # Is another one as soon as the same call would do something else: at another address, or with another account.
    version: str = ""
    # Untrusted content may have decided about this call.
    is_chosen: bool = False
    # The words of memories in the arguments, which a workflow that is called hands on.
    memories: tuple[str, ...] = ()
    # What a call spends at most of the limits of an agent. None: nobody knows, so it is called while no other call spends.
    most_tokens: int | None = 0
    most_cost: float | None = 0.0  # USD
    # A person's answer to what the tool asked when the same call was made before.
    reply: "ToolReply | None" = None
    # Why a person has to agree if the author didn't say so: a cause of ``engine.runtime.waits``.
    cause: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer of a tool. ``is_error`` says that it failed, which the model is told."""

    text: str
    data: Sequence[Json] = ()  # the structured part of the answer
    files: Sequence[Mapping[str, Json]] = ()
    is_error: bool = False
    # Of models that worked for the tool, such as those of a workflow.
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None  # USD
    # The words of memories in the answer, of a workflow that was shown some.
    memories: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ToolReply:
    """A person's answer to a tool. ``state`` is what the tool had given with its question."""

    values: Mapping[str, Json]
    action: str = ""
    state: Json = None


class ToolAsks(Exception):  # no error: the call is made again with the answer
    """A tool wants a person's answer before it carries out a call. ``form`` is as ``engine.runtime.waits`` describes it."""

    def __init__(self, form: Mapping[str, Json], state: Json) -> None:
        self.form, self.state = form, state
        super().__init__()


class ToolPort(Protocol):
    """The tools that a run may use: those of its team, with the rights of the person it is for."""

    async def find(self, references: Sequence[ToolReference]) -> Sequence[Tool]:
        """Return the tools in the same order; a reference to all tools of a provider stands for several.

        Raises ``engine.errors.ToolFailed`` for one that the run may not use.
        """
        ...

    async def call(
        self, tool: Tool, arguments: Mapping[str, Json], *, idempotency_key: str
    ) -> ToolResult:
        """Call a tool. Raises ``engine.errors.ToolFailed`` if it can't be reached; what it refuses is a result.

        Raises ``ToolAsks`` if it wants a person's answer first. The same call is then made again with ``tool.reply``.
        """
        ...


class SecretPort(Protocol):
    """Knows the stored secrets of a run's team and workflow, which no model may write."""

    async def is_in(self, value: Json) -> bool:
        """Return whether one of them is in a JSON value, plain or encoded."""
        ...

    async def is_team_secret_in(self, value: Json) -> bool:
        """Return whether one is in a JSON value that is the team's and not the workflow's own; short ones may be words."""
        ...
