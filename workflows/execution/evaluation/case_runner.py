"""Runs a test case with the models of a team and a memory that exists only for this case.

Neither a run nor a memory nor a message of a conversation is stored.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from uuid import UUID

from accounts.principals import RunPrincipal
from accounts.tenancy import tenant
from workflows import memory_app
from workflows.engine.errors import SubWorkflowUnavailable
from workflows.engine.language.document import Document, Json
from workflows.engine.nodes import build_kinds
from workflows.engine.nodes.agent.tool_use.tool_references import iter_workflow_references
from workflows.engine.ports import ModelPort
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.testing.case_runs import run_case
from workflows.engine.testing.cases import Case, CaseResult, TurnResult
from workflows.engine.tool_calls import ToolPort
from workflows.engine.tools.port import LocalTools
from workflows.execution.kinds import load_kinds
from workflows.execution.ports.adapters import Services
from workflows.execution.ports.children import find_published
from workflows.execution.ports.models import build_models
from workflows.models.documents import from_json
from workflows.tools.kept_connections import keep_connections
from workflows.tools.port import load_local_tools


SECONDS_PER_TURN = 60.0
MAX_VALUE_CHARACTERS = 4000  # characters of one value
MAX_WORKFLOWS = 50  # that a document runs, itself or through others


@cache
def get_services() -> Services:
    return Services(build_models)


@dataclass(frozen=True)
class CaseRunner:
    """Runs cases with the given services and models. Each case has its own memory and conversations.

    ``workflows`` are those that the document may run, by the slug or id that it names them by. Without ``tools`` it has
    the built-in tools and those of plug-ins.
    """

    services: Services
    models: ModelPort
    environment: Mapping[str, Json] = field(default_factory=dict, repr=False)
    workflows: Mapping[str, Document] = field(default_factory=dict)
    tools: ToolPort | None = None

    async def run(self, document: Document, case: Case) -> CaseResult:
        services = self.services
        memory = memory_app.make_temporary_memory() if memory_app.is_on() else None
        make_runner = partial(
            WorkflowRunner,
            memory=memory,
            models=self.models,
            templates=services.templates,
            code=services.code,
            http=services.http,
            tools=self.tools or LocalTools(load_local_tools(), services.clock, services.http),
            workflows=self.workflows,
            plugins=[kind for kind in load_kinds().values() if kind.name not in build_kinds()],
            environment=self.environment,
            timeout_seconds=SECONDS_PER_TURN,
        )
        async with keep_connections():
            return await run_case(document, case, make_runner, memory.port() if memory else None)


def load_workflows(
    document: Document, find_document: Callable[[str], Document | None]
) -> dict[str, Document]:
    """Return the workflows that the document runs, and those that they run, by the names that the documents use."""
    workflows: dict[str, Document] = {}
    pending = list(iter_workflow_references(document))
    while pending and len(workflows) < MAX_WORKFLOWS:
        reference = pending.pop()
        # Without a document, the node that runs it fails with an error that names it.
        if reference not in workflows and (sub_document := find_document(reference)):
            workflows[reference] = sub_document
            pending += iter_workflow_references(sub_document)
    return workflows


def find_published_document(
    principal: RunPrincipal, team_id: UUID, reference: str
) -> Document | None:
    """Return the published document of a workflow that the principal may run."""
    try:
        with tenant([team_id]):
            version = find_published(principal, team_id, reference).published_version
    except SubWorkflowUnavailable:
        return None
    return from_json(version.snapshot.document) if version else None


def describe_result(result: CaseResult, *, with_steps: bool) -> dict[str, Json]:
    """Return the findings and values of each turn, shortened for people. Secrets are not masked yet."""
    turns = [_describe_turn(turn, with_steps=with_steps) for turn in result.turns]
    return {"problem": result.problem, "turns": turns}


def _describe_turn(turn: TurnResult, *, with_steps: bool) -> dict[str, Json]:
    facts = turn.facts
    return {
        "findings": [asdict(finding) for finding in turn.findings],
        "status": facts.status,
        "error": facts.error,
        "outputs": _shorten(dict(facts.outputs)),
        "recalled": list(facts.recalled)[:50],
        "written": list(facts.written)[:50],
        "seconds": facts.seconds,
        "tokens": facts.tokens,
        "steps": [
            {
                "node": step.key.node_id,
                "rounds": list(step.key.rounds),
                "kind": step.kind,
                "status": step.status.value,
                "handle": step.handle,
                "elapsed": step.elapsed,
                "error": step.error.message if step.error else "",
                "outputs": _shorten(dict(step.outputs)),
            }
            for step in (facts.steps if with_steps else ())
        ],
    }


def _shorten(value: Json) -> Json:
    """Shorten a value for people, keeping the keys of its top level."""
    if isinstance(value, dict):
        return {key: _shorten_text(inner) for key, inner in value.items()}
    return _shorten_text(value)


def _shorten_text(value: Json) -> Json:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    if len(text) <= MAX_VALUE_CHARACTERS:
        return value
    return text[:MAX_VALUE_CHARACTERS] + "…"
