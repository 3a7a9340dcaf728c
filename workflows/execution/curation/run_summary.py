"""Summarize an ended run for its curation: its task, its result, and the memories it used.

Test runs and cases are not curated; see ``lessons``.
"""

from collections.abc import Iterable
from functools import partial
from uuid import UUID

from accounts.tenancy import tenant
from config.encryption.crypto import decrypt
from workflows import memory_app
from workflows.engine.errors import EngineFault
from workflows.engine.kinds import Execution, has_untrusted_input
from workflows.engine.language.document import Json
from workflows.engine.language.untrusted import Flow
from workflows.engine.ports import Message, ModelPort, ModelRequest, Origin
from workflows.engine.text_rendering import as_text
from workflows.execution.kinds import load_kinds
from workflows.execution.learning.lessons import extract_question
from workflows.execution.ports.adapters import build_memory_caller
from workflows.execution.ports.models import load_configs
from workflows.llm.offline import extract_quoted_text
from workflows.llm.registry import TeamModels
from workflows.models import Run, Step, WorkflowSecret
from workflows.models.documents import from_json
from workflows.models.run import RunStatus, StepStatus


NODE = "curation"  # names the caller of the model in the place of a node

_STATUS = {RunStatus.FAILED.value: "failed", RunStatus.STOPPED.value: "stopped"}


def curate_run(team_id: UUID, curation_id: UUID) -> None:
    """Curate a run, and store the result or the error in the curation's row. Nothing is raised."""
    memory_app.curate(team_id, curation_id, partial(summarize_run, team_id))


def summarize_run(
    team_id: UUID, run_id: str, learning: "memory_app.LearningRule"
) -> "memory_app.FinishedRun":
    with tenant([team_id]):
        run = (
            Run.objects.unscoped()
            .select_related("workflow", "snapshot", "conversation")
            .get(team_id=team_id, pk=run_id)
        )
        steps = list(Step.objects.unscoped().filter(run=run).order_by("id"))
        secrets = _load_secrets(run)
    row = {
        "system": run.system,
        "subject_user_id": run.subject_user_id,
        "started_by_id": run.started_by_id,
        "api_key_id": run.api_key_id,
    }
    uses_model = bool(learning.provider) and not run.offline
    return memory_app.FinishedRun(
        build_memory_caller(run.pk, team_id, row),
        _build_work(run, steps, memory_app.list_recalled_texts(team_id, run_id)),
        ask=_build_ask(team_id, run_id, learning) if uses_model else None,
        model=f"{learning.provider}/{learning.model}".rstrip("/"),
        known_secrets=secrets,
    )


def _build_work(
    run: Run, steps: list[Step], recalled: tuple[str, ...]
) -> "memory_app.FinishedWork":
    question = extract_question({"system": run.system, "inputs": run.inputs})
    task = question or run.workflow.description or run.workflow.name
    messages = [str(run.system["query"])] if run.system.get("query") else []
    errors = [run.error, *(step.error for step in steps if step.status != StepStatus.STOPPED)]
    return memory_app.FinishedWork(
        task=task,
        status=memory_app.WorkStatus(_STATUS.get(run.status, "succeeded")),
        outputs=tuple(dict.fromkeys([*messages, *_list_answers(run)])),
        errors=tuple(dict.fromkeys(error for error in errors if error)),
        recalled_texts=(*recalled, *_list_memory_texts(steps)),
        language="zh" if _is_chinese(task) else "en",
        source=memory_app.Source(run_id=str(run.pk), rule=NODE),
        is_untrusted=_is_untrusted(run, steps),
    )


def _list_answers(run: Run) -> list[str]:
    """Return the answers without the offline provider's label and phrases, which carry no information."""
    return [extract_quoted_text(text) for text in _list_texts((run.outputs or {}).values())]


def _is_untrusted(run: Run, steps: Iterable[Step]) -> bool:
    """Return whether the answer may contain external text, by way of the document, the conversation or memory."""
    document = from_json(run.snapshot.document)
    tainted = {step.node_key for step in steps if has_untrusted_input(step.kind, step.inputs or {})}
    tainted |= set(run.conversation.outside) if run.conversation else set()
    outside = Flow(document.nodes, load_kinds()).find_untrusted(tainted)
    return any(_is_response(step.kind) and step.node_key in outside for step in steps)


def _is_response(kind: str) -> bool:
    node_kind = load_kinds().get(kind)
    return node_kind is not None and node_kind.execution is Execution.RESPONSE


def _list_memory_texts(steps: Iterable[Step]) -> list[str]:
    """Return the outputs of memory nodes, because another provider's working memory records no reads."""
    nodes = (step for step in steps if _uses_memory(step.kind))
    return _list_texts(value for step in nodes for value in (step.outputs or {}).values())


def _uses_memory(kind: str) -> bool:
    node_kind = load_kinds().get(kind)
    return node_kind is not None and node_kind.needs_memory


def _list_texts(values: Iterable[Json]) -> list[str]:
    """Return the values as strings; the items of a list are converted one by one."""
    items = (item for value in values for item in (value if isinstance(value, list) else [value]))
    return [text for item in items if (text := as_text(item)).strip()]


def _load_secrets(run: Run) -> tuple[str, ...]:
    rows = WorkflowSecret.objects.unscoped().filter(workflow_id=run.workflow_id)
    return tuple(decrypt(bytes(row.secret)) for row in rows)


def _build_ask(
    team_id: UUID, run_id: str, learning: "memory_app.LearningRule"
) -> "memory_app.AskModel":
    """Return the function that asks the model.

    A provider that isn't connected is an error: the offline model can't write the JSON.
    """
    models = TeamModels(load_configs(team_id), fallback="error")
    return partial(_ask_model, models, run_id, learning.provider, learning.model)


async def _ask_model(models: ModelPort, run_id: str, provider: str, model: str, prompt: str) -> str:
    request = ModelRequest(
        provider=provider,
        model=model,
        messages=(Message("user", prompt),),
        origin=Origin(run_id, NODE, f"{run_id}:{NODE}"),
        params={"temperature": 0},
    )
    try:
        return "".join([chunk.text async for chunk in models.stream(request)])
    except EngineFault as fault:
        raise ModelSilent(fault.message) from None


class ModelSilent(Exception):
    """The configured model gave no answer."""


def _is_chinese(text: str) -> bool:
    return any("\u4e00" <= character <= "\u9fff" for character in text)
