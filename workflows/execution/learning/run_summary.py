"""What a run that has ended was about, for who curates it: its task, what came of it, what it was told.

Test runs and cases are not among them; see ``learning``.
"""

from collections.abc import Iterable
from functools import partial
from uuid import UUID

from accounts.tenancy import tenant
from config.crypto import decrypt
from workflows import memory_app
from workflows.engine.document import Json
from workflows.engine.errors import WorkflowFault
from workflows.engine.kinds import Execution, heard
from workflows.engine.outside import Flow
from workflows.engine.ports import Message, ModelPort, ModelRequest, Origin
from workflows.engine.rendering import as_text
from workflows.execution.adapters import memory_caller
from workflows.execution.kinds import kinds
from workflows.execution.learning import question_of
from workflows.execution.models_port import configs_of
from workflows.llm.offline import plain_answer
from workflows.llm.registry import TeamModels
from workflows.models import Run, Step, WorkflowSecret
from workflows.models.documents import from_json
from workflows.models.run import RunStatus, StepStatus


NODE = "curation"  # who asks the model, where a node would be named

# A memory's own nodes: what they give out was known before.
_RECALLING = ("memory-", "conversation-memory", "knowledge-")
_STATUS = {RunStatus.FAILED.value: "failed", RunStatus.STOPPED.value: "stopped"}


def curate_run(team_id: UUID, curation_id: UUID) -> None:
    """Raises nothing; its row says how it ended."""
    memory_app.curate(team_id, curation_id, partial(gather, team_id))


def gather(team_id: UUID, run_id: str, learning: "memory_app.Learning") -> "memory_app.Finished":
    with tenant([team_id]):
        run = (
            Run.objects.unscoped()
            .select_related("workflow", "snapshot", "conversation")
            .get(team_id=team_id, pk=run_id)
        )
        steps = list(Step.objects.unscoped().filter(run=run).order_by("id"))
        secrets = _secrets(run)
    row = {
        "system": run.system,
        "subject_user_id": run.subject_user_id,
        "started_by_id": run.started_by_id,
        "api_key_id": run.api_key_id,
    }
    asks = bool(learning.provider) and not run.offline
    return memory_app.Finished(
        memory_caller(run.pk, team_id, row),
        _work(run, steps, memory_app.recalled_in(team_id, run_id)),
        ask=_asking(team_id, run_id, learning) if asks else None,
        model=f"{learning.provider}/{learning.model}".rstrip("/"),
        known_secrets=secrets,
    )


def _work(run: Run, steps: list[Step], recalled: tuple[str, ...]) -> "memory_app.FinishedWork":
    question = question_of({"system": run.system, "inputs": run.inputs})
    task = question or run.workflow.description or run.workflow.name
    said = [str(run.system["query"])] if run.system.get("query") else []
    errors = [run.error, *(step.error for step in steps if step.status != StepStatus.STOPPED)]
    return memory_app.FinishedWork(
        task=task,
        status=memory_app.Status(_STATUS.get(run.status, "succeeded")),
        outputs=tuple(dict.fromkeys([*said, *_answers(run)])),
        errors=tuple(dict.fromkeys(one for one in errors if one)),
        recalled=(*recalled, *_told(steps)),
        language="zh" if _is_chinese(task) else "en",
        source=memory_app.Source(run_id=str(run.pk), rule=NODE),
        outside=_from_outside(run, steps),
    )


def _answers(run: Run) -> list[str]:
    """The offline provider's label and phrases are nobody's news."""
    return [plain_answer(text) for text in _texts((run.outputs or {}).values())]


def _from_outside(run: Run, steps: Iterable[Step]) -> bool:
    """Whether what it answered may be strangers' words: told by its document, by its conversation, or by
    memory on its way."""
    document = from_json(run.snapshot.document)
    told = {step.node_key for step in steps if heard(step.kind, step.inputs or {})}
    told |= set(run.conversation.outside) if run.conversation else set()
    outside = Flow(document.nodes, kinds()).reached(told)
    return any(_speaks(step.kind) and step.node_key in outside for step in steps)


def _speaks(kind: str) -> bool:
    known = kinds().get(kind)
    return known is not None and known.execution is Execution.RESPONSE


def _told(steps: Iterable[Step]) -> list[str]:
    """What memory said in it, where it keeps no reads: working memory may be another provider's."""
    nodes = (step for step in steps if step.kind.startswith(_RECALLING))
    return _texts(value for step in nodes for value in (step.outputs or {}).values())


def _texts(values: Iterable[Json]) -> list[str]:
    """Of a list each item: messages of a chat are read one by one."""
    each = (item for value in values for item in (value if isinstance(value, list) else [value]))
    return [text for item in each if (text := as_text(item)).strip()]


def _secrets(run: Run) -> tuple[str, ...]:
    rows = WorkflowSecret.objects.unscoped().filter(workflow_id=run.workflow_id)
    return tuple(decrypt(bytes(row.secret)) for row in rows)


def _asking(team_id: UUID, run_id: str, learning: "memory_app.Learning") -> "memory_app.AskModel":
    """A provider that isn't connected is an error here: nobody wants the offline one's guess for JSON."""
    models = TeamModels(configs_of(team_id), fallback="error")
    return partial(_asked, models, run_id, learning.provider, learning.model)


async def _asked(models: ModelPort, run_id: str, provider: str, model: str, prompt: str) -> str:
    request = ModelRequest(
        provider=provider,
        model=model,
        messages=(Message("user", prompt),),
        origin=Origin(run_id, NODE, f"{run_id}:{NODE}"),
        params={"temperature": 0},
    )
    try:
        return "".join([chunk.text async for chunk in models.stream(request)])
    except WorkflowFault as fault:
        raise ModelSilent(fault.message) from None


class ModelSilent(Exception):
    """The configured model gave no answer."""


def _is_chinese(text: str) -> bool:
    return any("\u4e00" <= character <= "\u9fff" for character in text)
