"""Workflows as tools: a call runs the workflow as a child of the calling run, and its outputs are the answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from workflows.engine.errors import (
    InputRejected,
    NestingNotAllowed,
    SubWorkflowUnavailable,
    ToolFailed,
)
from workflows.engine.language.document import Document, Json
from workflows.engine.ports import SubRunResult, SubWorkflowPort
from workflows.engine.runtime.step_records import RunStatus
from workflows.engine.sub_workflows.form import build_input_schema, list_callable_inputs
from workflows.engine.text_rendering import as_text
from workflows.engine.tool_calls import Tool, ToolPort, ToolReference, ToolResult, ToolSpec


WORKFLOW: Final = "workflow"  # the source of these tools
_SUCCESSFUL: Final = frozenset({RunStatus.SUCCEEDED.value, RunStatus.PARTIAL.value})


@dataclass(frozen=True, slots=True)
class LocalWorkflowTools:
    """Implements ``engine.tool_calls.ToolPort`` for the workflows of ``WorkflowRunner``, in front of its other tools."""

    find_document: Callable[[str], Document | None]
    children: SubWorkflowPort
    others: ToolPort

    async def find(self, references: Sequence[ToolReference]) -> Sequence[Tool]:
        tools: list[Tool] = []
        for reference in references:
            if reference.source == WORKFLOW:
                tools.append(self._find_workflow(reference))
            else:
                tools += await self.others.find([reference])
        return tools

    async def call(
        self, tool: Tool, arguments: Mapping[str, Json], *, idempotency_key: str
    ) -> ToolResult:
        if tool.reference.source != WORKFLOW:
            return await self.others.call(tool, arguments, idempotency_key=idempotency_key)
        return await run_workflow_tool(
            self.children, tool, arguments, idempotency_key=idempotency_key
        )

    def _find_workflow(self, reference: ToolReference) -> Tool:
        slug = get_slug(reference)
        document = self.find_document(slug)
        if document is None:
            raise ToolFailed(f"There is no workflow {slug}")
        schema = build_input_schema(list_callable_inputs(document))
        description, aliases = document.description or document.name, (document.name,)
        return Tool(reference, ToolSpec(slug, description, schema, aliases=aliases))


async def run_workflow_tool(
    children: SubWorkflowPort,
    tool: Tool,
    arguments: Mapping[str, Json],
    *,
    idempotency_key: str,
) -> ToolResult:
    """Run the workflow of a tool as a child of the calling run, and return its outputs as the tool's answer.

    What a model can correct is an answer, too: inputs that do not fit, and a workflow that failed. Raises StepWaiting
    while the child is paused.
    """
    slug = get_slug(tool.reference)
    try:
        # A model writes the arguments, after it has read what other tools answered.
        result = await children.run(
            slug,
            arguments,
            idempotency_key=idempotency_key,
            is_untrusted=True,
            is_chosen=tool.is_chosen,
            memories=tool.memories,
            version=tool.version if tool.needs_approval else "",
        )
    except (InputRejected, NestingNotAllowed) as refusal:
        return ToolResult(refusal.message, is_error=True)
    except SubWorkflowUnavailable as missing:
        raise ToolFailed(missing.message, retryable=missing.retryable) from missing
    return _build_result(slug, result)


def get_slug(reference: ToolReference) -> str:
    """Return the slug or id of a reference; documents of other products have it as the tool's name."""
    return reference.provider or reference.name


def _build_result(slug: str, result: SubRunResult) -> ToolResult:
    tokens = result.usage
    if result.status not in _SUCCESSFUL:
        text = f"{slug} {result.status}: {result.error or 'no reason given'}"
        return ToolResult(
            text,
            is_error=True,
            prompt_tokens=tokens.prompt_tokens,
            completion_tokens=tokens.completion_tokens,
            cost=tokens.cost,
            memories=result.memories,
        )
    outputs = dict(result.outputs)
    values = list(outputs.values())
    return ToolResult(
        as_text(values[0] if len(values) == 1 else outputs),
        [outputs],
        prompt_tokens=tokens.prompt_tokens,
        completion_tokens=tokens.completion_tokens,
        cost=tokens.cost,
        memories=result.memories,
    )
