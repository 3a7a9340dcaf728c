"""Plan the curation of an ended run, and summarize the run for it: its task, its results and the memories it used.

The statement that stores the end of a run also asks whether its application learns from runs: most don't, and a question of
its own would cost a short run a tenth of its time. The curation is planned after the end is stored, so an error in
planning can't change the run's result.
"""

import logging
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final
from uuid import UUID

from django.db import DatabaseError
from django.db.models import Q

from accounts.tenancy import tenant
from workflows import memory_app
from workflows.engine.errors import EngineFault, ModelNeeded
from workflows.engine.kinds import Execution, has_untrusted_input
from workflows.engine.language.content_marks.untrusted import ContentFlow
from workflows.engine.language.document import Json
from workflows.engine.ports import Message, ModelPort, ModelRequest, Origin, Ports
from workflows.engine.text_rendering import as_text
from workflows.execution.claims import Claim
from workflows.execution.curation.reminder import extract_question
from workflows.execution.debugging.run_options import DebugOptions
from workflows.execution.journal.journal import Question
from workflows.execution.journal.masking import load_secret_values
from workflows.execution.kinds import load_kinds
from workflows.execution.ports.adapters import build_memory_caller
from workflows.execution.ports.client_calls import ClientCall
from workflows.execution.ports.models import load_team_models
from workflows.execution.threads import run_in_thread
from workflows.llm.offline import extract_quoted_text
from workflows.models import Run, Step
from workflows.models.documents import from_json
from workflows.models.run import RunStatus, StepStatus


log = logging.getLogger(__name__)

NODE = "curation"  # stands for a node id where curation calls the model, and names the source of its memories

# What such nodes give is told about a run: its task, and its answers.
_TOLD: Final = frozenset({Execution.ROOT, Execution.RESPONSE})
_STATUS = {RunStatus.FAILED.value: "failed", RunStatus.STOPPED.value: "stopped"}


def build_learning_question(ports: Ports, claim: Claim) -> Question | None:
    """Return the question whether the run is to be curated. Debug runs and runs with pinned outputs are not."""
    if ports.memory is None or DebugOptions.from_row(claim.row).is_debugging or claim.row["mocks"]:
        return None
    return memory_app.LEARNS_FROM_RUNS, (claim.team_id, str(claim.row["workflow_id"]))


async def plan_curation(claim: Claim) -> None:
    """Plan the curation of an ended run. An error is only logged."""
    try:
        await run_in_thread(_plan, claim)
    except (DatabaseError, memory_app.MemoryFault) as error:
        log.warning("curation_not_planned", extra={"run": str(claim.run_id), "why": str(error)})


def curate_run(team_id: UUID, curation_id: UUID) -> None:
    """Curate a run, and store the result or the error in the curation's row instead of raising it."""
    memory_app.curate(team_id, curation_id, partial(summarize_run, team_id))


def summarize_run(
    team_id: UUID, run_id: str, rule: "memory_app.LearningRule"
) -> "memory_app.FinishedRun":
    """Return the work of the run, and the model that the team's rule selects for its curation."""
    with tenant([team_id]):
        runs = Run.objects.unscoped().select_related("workflow", "snapshot", "conversation")
        run = runs.get(team_id=team_id, pk=run_id)
        steps = list(Step.objects.unscoped().filter(run=run).order_by("id"))
        secrets = load_secret_values(run.workflow_id)
    columns = ("system", "subject_user_id", "started_by_id", "api_key_id")
    row = {column: getattr(run, column) for column in columns}
    uses_model = bool(rule.provider) and not run.offline
    return memory_app.FinishedRun(
        build_memory_caller(run.pk, team_id, row),
        _build_work(run, steps, memory_app.list_recalled_texts(team_id, run_id)),
        ask=_build_ask(team_id, run_id, rule) if uses_model else None,
        model=f"{rule.provider}/{rule.model}".rstrip("/"),
        known_secrets=secrets,
    )


def _plan(claim: Claim) -> None:
    app_id = str(claim.row["workflow_id"])
    if _leaves_out_learning(claim, app_id) or _has_needed_model(claim):
        return
    caller = build_memory_caller(claim.run_id, claim.team_id, claim.row)
    memory_app.plan_curation(caller, run_id=str(claim.run_id), app_id=app_id)


def _leaves_out_learning(claim: Claim, app_id: str) -> bool:
    """Return whether the application learns into a scope that the call of the run leaves out."""
    scopes = ClientCall.from_json(claim.row.get("client_call")).list_left_out_scopes()
    return bool(scopes) and memory_app.get_learning_rule(claim.team_id, app_id).scope in scopes


def _has_needed_model(claim: Claim) -> bool:
    """Return whether the run lacked a language model for its task, from which there is nothing to learn."""
    failed = Q(error_type=ModelNeeded.__name__) | Q(error__contains=ModelNeeded.reason)
    with tenant([claim.team_id]):
        return Step.objects.unscoped().filter(failed, run_id=claim.run_id).exists()


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


def _is_untrusted(run: Run, steps: Sequence[Step]) -> bool:
    """Return whether the task, an answer or an error may contain external text.

    It gets there by way of the document, the conversation, memory, or what called the run: a webhook, or another workflow.
    """
    if run.has_untrusted_inputs or run.has_untrusted_outputs or run.is_chosen_by_untrusted:
        return True
    document = from_json(run.snapshot.document)
    tainted = {step.node_key for step in steps if has_untrusted_input(step.kind, step.inputs or {})}
    tainted |= set(run.conversation.outside) if run.conversation else set()
    kinds = load_kinds()
    flow = ContentFlow(document.nodes, kinds, document.edges)
    untrusted = flow.find_left([step.node_key for step in steps], tainted)
    ends = {kind.name for kind in kinds.values() if kind.execution in _TOLD}
    return any(step.node_key in untrusted for step in steps if step.kind in ends or step.error)


def _list_memory_texts(steps: Iterable[Step]) -> list[str]:
    """Return the output texts of memory nodes, because some memory providers don't record what a run reads."""
    kinds = {kind.name for kind in load_kinds().values() if kind.needs_memory}
    outputs = (step.outputs or {} for step in steps if step.kind in kinds)
    return _list_texts(value for values in outputs for value in values.values())


def _list_texts(values: Iterable[Json]) -> list[str]:
    """Return the values as texts without empty ones; each item of a list becomes its own text."""
    items = (item for value in values for item in (value if isinstance(value, list) else [value]))
    return [text for item in items if (text := as_text(item)).strip()]


def _build_ask(
    team_id: UUID, run_id: str, rule: "memory_app.LearningRule"
) -> "memory_app.AskModel":
    """Return the function that sends a prompt to the rule's model.

    It raises an error if the model's provider is missing, because the offline model can't write the JSON.
    """
    models = load_team_models(team_id, fallback="error")
    return partial(_ask_model, models, run_id, rule.provider, rule.model)


def find_model(team_id: UUID, provider: str, model: str) -> "memory_app.AskModel | None":
    """Return the function that sends a prompt to this model, or None if the team has not connected its provider."""
    models = load_team_models(team_id, fallback="error")
    if not provider or models.directory.resolve(provider, model).is_offline:
        return None
    return partial(_ask_model, models, NODE, provider, model)


class NoModelAnswer(Exception):
    """The configured model gave no answer."""


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
        raise NoModelAnswer(fault.message) from None


def _is_chinese(text: str) -> bool:
    return any("\u4e00" <= character <= "\u9fff" for character in text)
