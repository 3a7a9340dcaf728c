"""The form of an agent. Its prompt has the same fields for memory and the conversation as that of an LLM node."""

from dataclasses import replace
from typing import Final

from workflows.engine.configuration import Field, Widget
from workflows.engine.nodes.agent.agent_config import (
    DEFAULT_QUERY,
    DEFAULT_RETRIES,
    DEFAULT_THRESHOLD,
    DEFAULT_WINDOW,
    MAX_ROUNDS,
    MIN_WINDOW,
)
from workflows.engine.nodes.llm.llm import Llm
from workflows.engine.nodes.llm.llm_fields import VISION_FIELD
from workflows.engine.texts import gettext_noop


# The instruction, the tools and the memory of a new agent, which is to be useful as it is.
INITIAL_INSTRUCTION: Final = gettext_noop(
    "You are a helpful assistant. Use your tools where they help, and say so if you can't do something."
)
INITIAL_TOOLS: Final = (
    {"source": "builtin", "name": "time"},
    {"source": "builtin", "name": "calculator"},
)
INITIAL_MEMORY_TOOLS: Final = {"recall": ["user"], "remember": ["user"]}

APPROVERS_FIELD: Final = Field(
    "approvers", gettext_noop("Who approves"), Widget.ANSWERERS,
    help=gettext_noop("A call that needs approval is in the inbox of these people, and mailed to them. Without a row, whoever runs the "
                      "workflow approves it, or anybody to whom they give the link."),
    example=[{"type": "role", "value": "admin"}],
)  # fmt: skip

_LLM_FIELDS: Final = {field.name: field for field in Llm.fields}

TASK_FIELDS: Final = (
    Field("instruction", gettext_noop("Instruction"), Widget.TEMPLATE,
          help=gettext_noop("What the agent is for, and how it works. It is the system message."),
          example="You answer questions about orders. Look up every order before you answer."),
    Field("query", gettext_noop("Task"), Widget.TEMPLATE, default=DEFAULT_QUERY,
          help=gettext_noop("The message of the user."), example=DEFAULT_QUERY),
)  # fmt: skip
TOOL_FIELDS: Final = (
    Field("tools", gettext_noop("Tools"), Widget.TOOLS,
          help=gettext_noop("What the model may call. A person has to allow each call of a tool that needs approval."),
          example=[{"source": "builtin", "name": "time"}]),
    Field("memory_tools", gettext_noop("Memory"), Widget.MEMORY_TOOLS,
          help=gettext_noop("The model recalls and remembers what matters about the user."),
          example=INITIAL_MEMORY_TOOLS),
    Field("knowledge_bases", gettext_noop("Knowledge bases"), Widget.KNOWLEDGE_BASES,
          help=gettext_noop("The model may search them with the tool search_pages."),
          example=["global:handbook"]),
    _LLM_FIELDS["memory"],
)  # fmt: skip
ADVANCED_FIELDS: Final = tuple(replace(field, is_advanced=True) for field in (
    Field("merge", gettext_noop("Merged workflows"), Widget.WORKFLOWS,
          help=gettext_noop("The model may call their functions as workflow.function: the workflow itself, and the tools of its agents. The run then has a memory of its own, apart from that of each workflow."),
          example=["desktop"]),
    Field("approval_timeout_hours", gettext_noop("Wait for approval (hours)"), Widget.NUMBER, low=1,
          help=gettext_noop("After that, the call counts as refused. Leave empty to wait for as long as it takes.")),
    APPROVERS_FIELD,
    replace(_LLM_FIELDS["enhanced_memory"], label=gettext_noop("Recall before the task")),
    VISION_FIELD,
    Field("completion_threshold", gettext_noop("Completion threshold"), Widget.NUMBER,
          default=DEFAULT_THRESHOLD, low=0.05, high=1, shown_when=("strategy", ("todo",)),
          help=gettext_noop("A to-do is completed when the model rates it at least this high, from 0 to 1.")),
    Field("max_action_retries", gettext_noop("Retries of a to-do"), Widget.NUMBER,
          default=DEFAULT_RETRIES, low=0, high=10, shown_when=("strategy", ("todo",)),
          help=gettext_noop("How often a to-do whose action failed is tried again.")),
    Field("max_rounds", gettext_noop("Max rounds"), Widget.NUMBER, low=1, high=MAX_ROUNDS,
          help=gettext_noop("After them, the agent answers with what it knows. Leave empty for 10, and with a to-do list 4 more for each to-do.")),
    Field("max_tokens", gettext_noop("Max tokens"), Widget.NUMBER, low=1,
          help=gettext_noop("Of all rounds together. Leave empty for no limit.")),
    Field("max_cost", gettext_noop("Max cost (USD)"), Widget.NUMBER, low=0.001,
          help=gettext_noop("Of all rounds together. It needs the price of the model, which is set on the page Models.")),
    Field("timeout_seconds", gettext_noop("Max seconds"), Widget.NUMBER, low=1,
          help=gettext_noop("The time spent waiting for people doesn't count. Leave empty for no limit.")),
    Field("context_window", gettext_noop("Context window (tokens)"), Widget.NUMBER,
          default=DEFAULT_WINDOW, low=MIN_WINDOW,
          help=gettext_noop("When the messages of a long agent get longer, older results of tools are shortened.")),
))  # fmt: skip
