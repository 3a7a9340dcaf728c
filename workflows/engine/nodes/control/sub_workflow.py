"""Sub-workflow: runs a published workflow of the team as a run of its own, and returns its outputs."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Final

from workflows.engine.appearance import Data, iter_objects
from workflows.engine.configuration import ConfigPart, Field, NodeConfig, Widget
from workflows.engine.errors import PortMissing, SubWorkflowFailed
from workflows.engine.kinds import NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.content_marks.shown_memories import find_memories
from workflows.engine.language.content_marks.untrusted import is_chosen
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.failure_policy import Retry
from workflows.engine.language.templating import Template
from workflows.engine.language.variables import VariablePool
from workflows.engine.nodes.http.written_texts import render_argument
from workflows.engine.ports import SubRunResult
from workflows.engine.runtime.step_records import RunStatus, StepError
from workflows.engine.text_rendering import as_text
from workflows.engine.texts import Text, gettext_noop


_SUCCESSFUL = frozenset({RunStatus.SUCCEEDED.value, RunStatus.PARTIAL.value})
# Says in a step's inputs that the time was up before the workflow had ended.
_CUT_OFF: Final = "cut off"


class DeclaredOutput(ConfigPart):
    """An output of the workflow, as its published version had it when it was chosen."""

    variable: str
    value_type: Any = "any"


class SubWorkflowConfig(NodeConfig):
    """The settings of a sub-workflow. Each input is a variable's selector, a template, or a constant."""

    workflow: str = ""
    workflow_name: str = ""  # for the card
    inputs: Mapping[str, Any] = {}
    outputs: tuple[DeclaredOutput, ...] = ()


class SubWorkflow(NodeKind[SubWorkflowConfig, SubWorkflowConfig]):
    name = "sub-workflow"
    title = gettext_noop("Sub-workflow")
    description = gettext_noop("Runs another published workflow and returns its outputs")
    group = "tools"
    palette_order = 30
    icon = "workflow"
    family = "logic"
    config_model = SubWorkflowConfig
    has_effect = True
    retry = Retry(max_retries=3, interval_ms=1000)
    fields = (
        Field("workflow", gettext_noop("Workflow"), Widget.WORKFLOW, required=True,
              help=gettext_noop("A published workflow of the team. Each run uses the version that is published then."),
              empty_warning="No workflow is selected", example="summarize-page"),
        Field("inputs", gettext_noop("Inputs"), Widget.WORKFLOW_INPUTS,
              help=gettext_noop("A text that is exactly one variable passes the value itself."),
              example={"url": "{{#start.url#}}", "pages": ["start", "pages"]}),
    )  # fmt: skip

    def summarize(self, data: Data) -> Iterable[Text]:
        return [as_text(data.get("workflow_name")) or as_text(data.get("workflow"))]

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        return tuple(
            Output(str(output["variable"]), str(output.get("value_type") or "any"))
            for output in iter_objects(spec.data.get("outputs"))
            if output.get("variable")
        )

    def list_reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        selectors = map(_get_selector, self.configure(spec).inputs.values())
        return tuple(selector for selector in selectors if selector is not None)

    async def run(self, prepared: SubWorkflowConfig, ctx: NodeContext) -> NodeResult:
        port = ctx.ports.sub_workflows
        if port is None:
            raise PortMissing("sub_workflows")
        inputs = _read_inputs(prepared, ctx.pool)
        ctx.record_inputs({"workflow": prepared.workflow, "inputs": inputs})
        try:
            result = await port.run(
                prepared.workflow,
                inputs,
                idempotency_key=ctx.origin.idempotency_key,
                is_untrusted=ctx.node_id in ctx.untrusted,
                is_chosen=is_chosen(ctx.node_id, ctx.untrusted),
                memories=find_memories(ctx.shown_memories, inputs),
            )
        except asyncio.CancelledError:
            ctx.record_untrusted_keys([_CUT_OFF])  # it may have waited for a page
            raise
        return _build_result(prepared, ctx, result)

    async def preview_inputs(
        self, prepared: SubWorkflowConfig, ctx: NodeContext
    ) -> Mapping[str, Json]:
        return {"workflow": prepared.workflow, "inputs": _read_inputs(prepared, ctx.pool)}


def _build_result(config: SubWorkflowConfig, ctx: NodeContext, result: SubRunResult) -> NodeResult:
    name = config.workflow_name or config.workflow
    if result.is_untrusted:
        ctx.record_untrusted_keys([f"run:{result.run_id}"])
    ctx.record_memories(result.memories)
    if result.status not in _SUCCESSFUL:
        raise SubWorkflowFailed(f"{name} {result.status}: {result.error or 'no reason given'}")
    is_partial = result.status == RunStatus.PARTIAL.value
    return NodeResult(
        result.outputs,
        usage=result.usage,
        shortfall=StepError("SubWorkflowPartial", f"{name} has only partially succeeded.")
        if is_partial
        else None,
    )


def _read_inputs(config: SubWorkflowConfig, pool: VariablePool) -> dict[str, Json]:
    """Return the values of the inputs. One that is left empty is not passed, so that the start form's default applies."""
    values = {name: _read_input(name, value, pool) for name, value in config.inputs.items()}
    return {name: value for name, value in values.items() if value is not None and value != ""}


def _read_input(name: str, value: Json, pool: VariablePool) -> Json:
    selector = _get_selector(value)
    if selector is not None:
        return pool.get_or_none(selector)
    return render_argument(value, pool, name) if isinstance(value, str) else value


def _get_selector(value: Json) -> Selector | None:
    """Return the variable that is passed as it is: a selector, or a text that is exactly one reference."""
    if isinstance(value, str):
        segments = Template.of(value).segments
        return segments[0] if len(segments) == 1 and not isinstance(segments[0], str) else None
    if isinstance(value, list | tuple) and len(value) > 1:
        return tuple(value) if all(isinstance(part, str) and part for part in value) else None
    return None
