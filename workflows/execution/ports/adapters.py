"""The engine's ports of a run: its memory, the team's models, templates, code and HTTP.

Each port loads its data when the run first uses it, so a run without memory nodes needs no query for memory.
"""

import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from uuid import UUID

from django.db import DatabaseError

from accounts.principals import RunPrincipal, load_run_principal
from accounts.tenancy import tenant
from config.ids import uuid7
from config.redaction import build_redactor
from workflows import memory_app
from workflows.engine.errors import RerankUnavailable
from workflows.engine.files.ports import DocumentPort
from workflows.engine.language.document import Json
from workflows.engine.memory_ports import FullMemoryPort
from workflows.engine.ports import (
    CodePort,
    HttpPort,
    ModelChunk,
    ModelPort,
    ModelRequest,
    OfflinePort,
    Ports,
    RerankPort,
    RerankRequest,
    RerankResult,
    TemplatePort,
    Usage,
)
from workflows.engine.runtime.local_ports import SystemClock
from workflows.engine.sub_workflows.shares import EstimatePort
from workflows.engine.tool_calls import ToolPort
from workflows.execution.claims import Claim
from workflows.execution.debugging.run_options import SANDBOX, DebugOptions
from workflows.execution.memory_streams import find_stream_name
from workflows.execution.plans import PreparedDocument
from workflows.execution.ports.client_calls import ClientCall
from workflows.execution.ports.files import RunFiles
from workflows.execution.ports.histories import build_history
from workflows.execution.ports.http import GuardedHttp
from workflows.execution.ports.published_versions import Approval
from workflows.execution.ports.stored_secrets import StoredSecrets
from workflows.execution.ports.traced_http import give_trace_on
from workflows.execution.run_setup import NO_SETUP, Setup
from workflows.execution.threads import LoadedOnce, run_in_thread
from workflows.models import DryRunChange
from workflows.sandbox.code_pool import CodePool
from workflows.sandbox.documents.extractor import DocumentPool
from workflows.sandbox.templates import TemplatePool
from workflows.tools.port import build_team_tools


log = logging.getLogger(__name__)

# The system variables that identify a run's memory. For the last three see services.runs.memory_streams.
IDENTITY_NAMES = (
    *("conversation_id", "user_id", "app_id", "workflow_id"),
    *("workflow_names", "stream_name", "group_id"),
)
# The columns of ``DryRunChange`` that have the same names in memory's ``SandboxChange``.
CHANGE_COLUMNS = ("origin_key", "scope", "namespace", "key", "entry", "before")


class NewIds:
    """Implements ``engine.ports.IdPort``."""

    def new(self) -> str:
        return str(uuid7())


@dataclass
class Services:
    """The services that the runs of a worker share; their processes and connections start when needed."""

    models: Callable[[UUID, bool], ModelPort]
    templates: TemplatePort = field(default_factory=TemplatePool)
    code: CodePort = field(default_factory=CodePool)
    http: HttpPort = field(default_factory=GuardedHttp)
    documents: DocumentPort = field(default_factory=DocumentPool)
    clock: SystemClock = field(default_factory=SystemClock)
    ids: NewIds = field(default_factory=NewIds)

    def close(self) -> None:
        for pool in (self.templates, self.code, self.documents):
            close = getattr(pool, "close", None)
            if close is not None:
                close()


def build_ports(claim: Claim, setup: Setup, services: Services) -> Ports:
    return Ports(
        clock=services.clock,
        ids=services.ids,
        model=services.models(claim.team_id, bool(claim.row["offline"])),
        memory=build_memory(claim, setup) if memory_app.is_on() else None,
        templates=services.templates,
        code=services.code,
        http=give_trace_on(services.http, claim.row),
        files=RunFiles(claim.team_id, claim.run_id, claim.row, services.http),
        documents=services.documents,
        history=build_history(claim),
        secrets=StoredSecrets(claim.team_id, UUID(str(claim.row["workflow_id"]))),
    )


async def record_run_start(claim: Claim, prepared: PreparedDocument) -> None:
    """Store the run's goal and memory stream before its first step, which may read them.

    Runs without memory and dry runs store nothing.
    """
    is_dry_run = DebugOptions.from_row(claim.row).memory == SANDBOX
    if not memory_app.is_on() or claim.attempt > 1 or is_dry_run:
        return
    if not prepared.uses_memory:
        return
    system = claim.row["system"]
    try:
        await run_in_thread(
            memory_app.save_run_metadata,
            claim.team_id,
            claim.run_id,
            goal=str(system.get("query") or prepared.document.name),
            stream=str(system.get("stream_name") or ""),
        )
    except (DatabaseError, memory_app.MemoryFault) as error:
        log.warning("run_start_not_recorded", extra={"run": str(claim.run_id), "why": str(error)})


async def clear_notes(claim: Claim, ports: Ports) -> None:
    """Delete the notes of an ended run. If this fails, memory's maintenance deletes them later."""
    if not memory_app.is_on() or not isinstance(ports.memory, memory_app.RunMemory):
        return
    if not ports.memory.is_used and claim.attempt == 1:
        return  # the run stored nothing
    try:
        await run_in_thread(memory_app.clear_run_notes, claim.team_id, claim.run_id)
    except (DatabaseError, memory_app.MemoryFault) as error:
        log.warning("notes_left", extra={"run": str(claim.run_id), "why": str(error)})


def build_memory(claim: Claim, setup: Setup = NO_SETUP) -> FullMemoryPort:
    """Return the run's memory, which for a dry run only collects its changes, as it does in the scopes that a call leaves out.

    Memories outlive the run, so the run's secrets are removed from them permanently.
    """
    redact = build_redactor(setup.secrets.values()).redact
    build_caller = partial(
        build_memory_caller, claim.run_id, claim.team_id, claim.row, setup.knowledge_bases
    )
    ledger = Ledger(claim.team_id, claim.run_id)
    memory = (
        memory_app.SandboxMemory(build_caller, ledger, redact)
        if DebugOptions.from_row(claim.row).memory == SANDBOX
        else memory_app.RunMemory(build_caller, redact)
    )
    call = ClientCall.from_json(claim.row.get("client_call"))
    if not call.left_out:
        return memory
    created_at = datetime.fromisoformat(claim.row["created_at"])
    history = memory_app.SentHistory(call.messages or (), created_at)
    return memory_app.PartialMemory(memory, ledger, call.left_out, history, redact)


def build_tools(claim: Claim, services: Services, workflows: ToolPort) -> ToolPort:
    """Return the tools of the run's team, with the current rights of the person who started it.

    ``workflows`` runs published workflows as children of the run.
    """
    approval = Approval.read(claim.row)
    return build_team_tools(
        claim.team_id,
        partial(load_principal, claim.run_id, claim.team_id, claim.row),
        run_in_thread,
        clock=services.clock,
        http=give_trace_on(services.http, claim.row),
        workflows=workflows,
        approval=None if approval is None else approval.tools,
    )


def load_principal(run_id: UUID, team_id: UUID, row: Mapping[str, Json]) -> RunPrincipal:
    return load_run_principal(
        run_id=run_id,
        team_id=team_id,
        user_id=_parse_id(row, "started_by_id"),
        key_id=_parse_id(row, "api_key_id"),
    )


def build_memory_caller(
    run_id: UUID,
    team_id: UUID,
    row: Mapping[str, Json],
    knowledge_bases: frozenset[str] = frozenset(),
) -> "memory_app.MemoryCaller":
    """Return the principal, identity and accessible namespaces with which a run calls memory, from the run's row.

    ``knowledge_bases`` are those that the document of the run names.
    """
    identity = build_identity(run_id, team_id, row)
    subject_user = _parse_id(row, "subject_user_id")
    principal = load_principal(run_id, team_id, row)
    return memory_app.MemoryCaller(
        principal,
        team_id,
        identity=identity,
        reach=memory_app.list_reachable(identity),
        knowledge_bases=knowledge_bases,
        participants=frozenset({subject_user} if subject_user else ()),
        is_for_external_user=subject_user is None,
    )


def build_identity(run_id: UUID, team_id: UUID, row: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the system variables that identify the run's memory. Only its row is trusted, not the run's inputs."""
    system = row["system"]
    identity = {name: system[name] for name in IDENTITY_NAMES if system.get(name)}
    if "stream_name" not in identity and identity.get("workflow_id"):
        # A run that was started before streams had names, or by ``run_workflow``, whose workflow has no row.
        ids = identity.get("workflow_names") or [identity["workflow_id"]]
        with suppress(ValueError), tenant([team_id]):
            identity["stream_name"] = find_stream_name(team_id, [UUID(str(pk)) for pk in ids])
    return {**identity, "run_id": str(run_id)}


class LazyModels:
    """Implements ``engine.ports.ModelPort``: resolves the team's providers on the first request, or when it is announced."""

    def __init__(self, resolve: Callable[[], ModelPort]) -> None:
        self._port = LoadedOnce(resolve)

    def expect(self) -> None:
        """Begin to look the providers up, because a request comes soon."""
        self._port.expect()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        port = await self._port.get()
        async for chunk in port.stream(request):
            yield chunk

    async def rerank(self, request: RerankRequest) -> RerankResult:
        port: object = await self._port.get()
        if not isinstance(port, RerankPort):
            raise RerankUnavailable
        return await port.rerank(request)

    async def estimate(self, request: ModelRequest) -> Usage | None:
        port: object = await self._port.get()
        return await port.estimate(request) if isinstance(port, EstimatePort) else None

    async def is_offline(self, request: ModelRequest) -> bool:
        port: object = await self._port.get()
        return isinstance(port, OfflinePort) and await port.is_offline(request)


def _parse_id(row: Mapping[str, Json], column: str) -> UUID | None:
    value = row[column]
    return UUID(str(value)) if value else None


class Ledger:
    """Implements memory's ledger of a dry run: stores the changes as rows of the run."""

    def __init__(self, team_id: UUID, run_id: UUID) -> None:
        self._team_id, self._run_id = team_id, run_id

    def load(self) -> "list[memory_app.SandboxChange]":
        with tenant([self._team_id]):
            rows = DryRunChange.objects.unscoped().filter(run_id=self._run_id).order_by("number")
            return [build_change(row) for row in rows]

    def add(self, changes: "Sequence[memory_app.SandboxChange]") -> None:
        with tenant([self._team_id]):
            first = DryRunChange.objects.unscoped().filter(run_id=self._run_id).count() + 1
            DryRunChange.objects.unscoped().bulk_create(
                DryRunChange(
                    team_id=self._team_id,
                    run_id=self._run_id,
                    number=number,
                    node_key=change.node_id,
                    operation=change.operation,
                    **{column: getattr(change, column) for column in CHANGE_COLUMNS},
                )
                for number, change in enumerate(changes, start=first)
            )


def build_change(row: DryRunChange) -> "memory_app.SandboxChange":
    return memory_app.SandboxChange(
        operation="store" if row.operation == DryRunChange.Operation.STORE else "forget",
        node_id=row.node_key,
        **{column: getattr(row, column) for column in CHANGE_COLUMNS},
    )
