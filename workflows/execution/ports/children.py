"""Child runs: a run starts another workflow as a run of its own, and waits for its end.

A child belongs to the person of its parent and has the parent's rights, but its own application, memory and journal. It
is driven by the worker of its parent, in the same event loop, without a slot of its own: a worker with one slot never
waits for itself. A later attempt at the parent finds the child by the key of its step.
"""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError
from django.utils import timezone

from accounts import audit
from accounts.principals import RunPrincipal, load_run_principal
from accounts.tenancy import tenant
from config.ids import derive_uuid7
from config.redaction import NO_REDACTION, Redactor
from workflows import permissions
from workflows.engine.errors import InputRejected, NestingNotAllowed, SubWorkflowUnavailable
from workflows.engine.language.document import Document, Json, Mode
from workflows.engine.language.problems import Problem
from workflows.engine.ports import SubRunResult, Usage
from workflows.engine.sub_workflows.children import (
    build_child_wait,
    check_nesting,
    count_call,
    name_next_call,
)
from workflows.engine.sub_workflows.form import build_call_outputs, check_call
from workflows.engine.sub_workflows.shares import Share
from workflows.engine.sub_workflows.spending import Spending
from workflows.engine.sub_workflows.spending_limits import NO_LIMITS, SpendingLimits
from workflows.execution import claims
from workflows.execution.claims import Claim
from workflows.execution.db import Database
from workflows.execution.debugging.run_options import SANDBOX, DebugOptions
from workflows.execution.journal.codec import dump
from workflows.execution.memory_streams import build_stream_system, find_merged
from workflows.execution.ports.client_calls import ClientCall
from workflows.execution.ports.published_versions import Approval, read_below
from workflows.execution.ports.runs_below import count_start
from workflows.execution.threads import run_in_thread
from workflows.execution.usage.counting import count_team
from workflows.files.records import Owner, note_child
from workflows.models import Run, Workflow
from workflows.models.documents import from_json
from workflows.models.run import ENDED, RunStatus


MAX_KEY: Final = 255  # characters of ``Run.parent_key``
FIRST_DELAY: Final = 0.05  # seconds between looks at a child that another worker drives
MAX_DELAY: Final = 1.0


@dataclass(frozen=True, slots=True)
class ChildDriver:
    """The worker, as its child runs use it. ``drive`` returns when the child has stopped running here."""

    db: Database
    drive: Callable[[UUID], Awaitable[None]]
    start_task: Callable[[Coroutine[Any, Any, None]], object]


@dataclass(slots=True)
class ChildRuns:
    """Implements ``engine.ports.SubWorkflowPort`` for one attempt at a run.

    ``is_abandoned`` says that the run has merely left this worker, so that its children go on elsewhere.
    """

    claim: Claim
    driver: ChildDriver
    is_abandoned: Callable[[], bool]
    redactor: Redactor = NO_REDACTION
    spending: Spending = field(default_factory=Spending)
    _calls: Counter[str] = field(default_factory=Counter)

    async def run(
        self,
        reference: str,
        inputs: Mapping[str, Json],
        *,
        idempotency_key: str,
        is_untrusted: bool = False,
        is_chosen: bool = False,
        memories: Collection[str] = (),
        version: str = "",
    ) -> SubRunResult:
        key = _shorten_key(count_call(self._calls, idempotency_key))
        child = await claims.find_child(self.driver.db, self.claim, key)
        if child is None:
            self._check_secrets(inputs)
            await run_in_thread(
                start_child,
                self.claim,
                key,
                reference,
                inputs,
                is_untrusted=is_untrusted,
                is_chosen=is_chosen,
                memories=memories,
                version=version,
                limits=self.spending.get_left(),
                shares=self.spending.list_shares(),
            )
            child = await claims.find_child(self.driver.db, self.claim, key)
        if child is None:
            raise SubWorkflowUnavailable("The sub-workflow's run was deleted", retryable=True)
        try:
            result = await self._wait_for_end(key, child)
        except asyncio.CancelledError:
            if not self.is_abandoned():  # the step was stopped, or took too long
                child_id = UUID(child["id"])
                stop = claims.stop_child(self.driver.db, self.claim, child_id)
                self.driver.start_task(stop)
            raise
        return await self._count_spending(result)

    async def has_begun(self, idempotency_key: str) -> bool:
        key = _shorten_key(name_next_call(self._calls, idempotency_key))
        return await claims.find_child(self.driver.db, self.claim, key) is not None

    async def _count_spending(self, result: SubRunResult) -> SubRunResult:
        """Return the result with the cost of the child and of all runs below it, if a limit asks for it."""
        cost: float | None = None
        if self.spending.get_left().max_cost is not None:
            cost = await run_in_thread(load_cost, self.claim.team_id, UUID(result.run_id))
        usage = replace(result.usage, cost=cost)
        self.spending.add(usage)
        return replace(result, usage=usage)

    def _check_secrets(self, inputs: Mapping[str, Json]) -> None:
        """Refuse inputs that contain a secret of this run, because the inputs of a run are stored and shown."""
        for name, value in inputs.items():
            text = dump(value)
            if self.redactor.redact_json_text(text) != text:
                message = f"{name} contains a secret variable; give the sub-workflow one of its own"
                raise InputRejected([Problem("input.invalid", message, field=name)])

    async def _wait_for_end(self, key: str, child: Mapping[str, Json]) -> SubRunResult:
        child_id, delay = UUID(child["id"]), FIRST_DELAY
        while child["status"] not in ENDED:
            if child["status"] == RunStatus.PAUSED and not child["is_due"]:
                raise build_child_wait(str(child_id))
            await self.driver.drive(child_id)
            current_child = await claims.find_child(self.driver.db, self.claim, key)
            if current_child is None:
                raise SubWorkflowUnavailable("The sub-workflow's run was deleted", retryable=True)
            child = current_child
            if child["status"] in (RunStatus.QUEUED, RunStatus.RUNNING):
                # Another worker drives it, or this one is stopping.
                await asyncio.sleep(delay)
                delay = min(delay * 2, MAX_DELAY)
        return SubRunResult(
            str(child_id),
            child["status"],
            build_call_outputs(Mode(child["mode"]), child["outputs"] or {}),
            child["error"] or None,
            Usage(child["prompt_tokens"], child["completion_tokens"]),
            child["has_untrusted_outputs"],
            tuple(child["memories_in_outputs"]),
        )


def start_child(
    claim: Claim,
    key: str,
    reference: str,
    inputs: Mapping[str, Json],
    *,
    is_untrusted: bool,
    is_chosen: bool = False,
    memories: Collection[str] = (),
    version: str = "",
    limits: SpendingLimits = NO_LIMITS,
    shares: Sequence[Share] = (),
) -> None:
    """Create the child run in the parent's team, unless another attempt has done so.

    Raises SubWorkflowUnavailable, NestingNotAllowed or InputRejected.
    """
    principal = load_principal(claim)
    with tenant([claim.team_id]):
        approval = Approval.read(claim.row)
        workflow = find_published(principal, claim.team_id, reference, approval)
        if version:
            approval = _check_version(workflow, version, approval)
        check_nesting(_list_ancestors(claim), str(workflow.pk), workflow.name)
        document = _load_document(workflow)
        checked_inputs, query = check_call(document, inputs)
        child = _build_run(claim, workflow, key)
        child.inputs, child.has_untrusted_inputs = checked_inputs, is_untrusted
        child.is_chosen_by_untrusted = is_chosen
        child.memories_in_inputs = list(memories)
        child.approval = approval.to_json() if approval is not None else None
        child.spending_limits = dump_limits(limits, shares)
        merged = find_merged(principal, workflow, document)
        child.system |= build_stream_system(workflow, merged)
        if query is not None:
            child.system["query"] = query
    try:
        with tenant([claim.team_id]):
            count_start(claim, workflow.name)
            child.save(force_insert=True)
            note_child(Owner.of_run(claim.team_id, claim.row), [child.inputs], child.pk)
            audit.record(
                team_id=claim.team_id,
                actor=principal.actor,
                actor_kind=principal.kind,
                action="run.started",
                subject=f"run:{child.pk}",
                detail={"workflow": str(workflow.pk), "run": str(claim.run_id)},
            )
    except (IntegrityError, NestingNotAllowed):
        # An attempt that lost the parent, but did not know it yet, was faster.
        if not _is_started(claim, key):
            raise


def _check_version(workflow: Workflow, version: str, approval: Approval | None) -> Approval:
    """Return what a person allowed with this version. Raise SubWorkflowUnavailable if it was another one."""
    below = read_below(workflow, approval)
    if below.digest != version:
        message = (
            f"{workflow.name} was changed after a person allowed this call: it, a workflow that it runs, "
            "or a connection or a secret of these"
        )
        raise SubWorkflowUnavailable(message, retryable=True)
    return approval.add(below.allow()) if approval is not None else below.allow()


def dump_limits(limits: SpendingLimits, shares: Sequence[Share]) -> dict[str, Json] | None:
    """Return what a run may spend, as its row has it; None if there is no limit."""
    if not limits:
        return None
    values = {"shares": [share.to_json() for share in shares]} if shares else {}
    return {**limits.to_json(), **values}


def parse_shares(value: Mapping[str, Json] | None) -> tuple[Share, ...]:
    """Return the shares among the limits of a run."""
    return tuple(map(Share.from_json, (value or {}).get("shares", ())))


def store_spent(claim: Claim, limits: SpendingLimits, shares: Sequence[Share], cost: float) -> None:
    """Store what a run with limits has spent. Its steps don't say it of a call whose step was given up after the answer."""
    with tenant([claim.team_id]):
        run = Run.objects.unscoped().filter(pk=claim.run_id, attempt=claim.attempt)
        run.update(spending_limits={**(dump_limits(limits, shares) or {}), "spent": cost})


def load_cost(team_id: UUID, run_id: UUID) -> float | None:
    """Return the cost of an ended run with that of the runs below it, or None if no price is known."""
    count_team(team_id)
    with tenant([team_id]):
        rows = Run.objects.unscoped().filter(pk=run_id)
        cost, limits = rows.values_list("cost", "spending_limits").first() or (None, None)
    spent = (limits or {}).get("spent")
    return cost if not spent else max(cost or 0.0, spent)


def find_published(
    principal: RunPrincipal, team_id: UUID, reference: str, approval: Approval | None = None
) -> Workflow:
    """Return a published workflow of the team by its slug or id, if the principal may run it.

    Below a call that a person has approved, it has the version of then.
    A workflow of another team, and one that the principal may not run, look as if they did not exist.
    """
    rows = Workflow.objects.visible_to(principal).filter(team_id=team_id)
    rows = rows.select_related("published_version__snapshot")
    workflow = rows.filter(slug=reference).first() if reference else None
    if workflow is None and (workflow_id := _parse_uuid(reference)):
        workflow = rows.filter(pk=workflow_id).first()
    if workflow is None or not permissions.may_run(principal, workflow):
        raise SubWorkflowUnavailable(f"There is no workflow {reference!r} that this run may use")
    if workflow.is_archived:
        raise SubWorkflowUnavailable(f"The workflow {workflow.name} is archived")
    if workflow.published_version is None:
        raise SubWorkflowUnavailable(f"The workflow {workflow.name} is not published")
    if approval is not None:
        approval.choose_version(workflow)
    return workflow


def _build_run(claim: Claim, workflow: Workflow, key: str) -> Run:
    """Return the unsaved child, with the person and the starter of its parent, and an identity of its own."""
    parent, version = claim.row, workflow.published_version
    if version is None:
        raise SubWorkflowUnavailable(f"The workflow {workflow.name} is not published")
    is_dry_run = DebugOptions.from_row(parent).memory == SANDBOX
    child = Run(
        # The primary key refuses a second child of the same step.
        id=derive_uuid7(claim.run_id, key),
        team_id=claim.team_id,
        workflow=workflow,
        snapshot=version.snapshot,
        version=version,
        parent_id=claim.run_id,
        parent_key=key,
        subject=parent["subject"],
        subject_user_id=parent["subject_user_id"],
        started_by_id=parent["started_by_id"],
        api_key_id=parent["api_key_id"],
        actor=parent["actor"],
        channel=parent["channel"],
        client_call=ClientCall.from_json(parent["client_call"]).build_for_child().dump(),
        called_by_start=parent.get("called_by_start"),
        calls_above=parent.get("calls_above") or 0,
        request_id=parent["request_id"],
        trace_id=parent["trace_id"],
        offline=parent["offline"],
        debug={"memory": SANDBOX} if is_dry_run else None,
        queued_at=timezone.now(),
    )
    child.system = {
        "user_id": parent["system"].get("user_id") or parent["subject"],
        "app_id": str(workflow.pk),
        "workflow_id": str(workflow.pk),
        "workflow_run_id": str(child.pk),
        "files": [],
    }
    if workflow.is_chat:
        child.system["dialogue_count"] = 0
    return child


def _list_ancestors(claim: Claim) -> dict[str, str]:
    """Return the names of the workflows of the run and of those around it by their ids, the outermost one first."""
    ancestors: list[tuple[str, str]] = []
    run_id: UUID | None = claim.run_id
    while run_id is not None:
        rows = Run.objects.unscoped().filter(pk=run_id)
        workflow_id, name, run_id = rows.values_list(
            "workflow_id", "workflow__name", "parent_id"
        ).get()
        ancestors.append((str(workflow_id), name))
    return dict(reversed(ancestors))


def _load_document(workflow: Workflow) -> Document:
    version = workflow.published_version
    return from_json(version.snapshot.document if version else {})


def load_principal(claim: Claim) -> RunPrincipal:
    """Return the principal with which the run acts: it has the current rights of its starter."""
    row = claim.row
    return load_run_principal(
        run_id=claim.run_id,
        team_id=claim.team_id,
        user_id=_parse_uuid(row["started_by_id"]),
        key_id=_parse_uuid(row["api_key_id"]),
    )


def _is_started(claim: Claim, key: str) -> bool:
    with tenant([claim.team_id]):
        rows = Run.objects.unscoped().filter(parent_id=claim.run_id, parent_key=key)
        return rows.exists()


def _shorten_key(key: str) -> str:
    """Return a key that fits into its column and still differs from all others."""
    if len(key) <= MAX_KEY:
        return key
    return f"{key[:180]}…{hashlib.sha256(key.encode()).hexdigest()}"


def _parse_uuid(value: object) -> UUID | None:
    try:
        return UUID(str(value)) if value else None
    except ValueError:
        return None
