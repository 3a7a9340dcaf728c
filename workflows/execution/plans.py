"""Load and compile the documents of snapshots. Each process caches the compiled documents that its runs use."""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID

from accounts.tenancy import tenant
from workflows.engine.language.document import Document
from workflows.engine.language.memory_usage import list_knowledge_bases, list_memory_scopes
from workflows.engine.language.plan import Plan, compile_plan
from workflows.execution.kinds import load_kinds
from workflows.execution.threads import run_in_thread
from workflows.models import Snapshot
from workflows.models.documents import from_json


CACHE_SIZE = 256


@dataclass(frozen=True)
class PreparedDocument:
    """A document with its compiled plan."""

    document: Document
    plan: Plan

    @cached_property
    def titles(self) -> Mapping[str, str]:
        return {node.id: node.title for node in self.document.nodes}

    @cached_property
    def uses_memory(self) -> bool:
        return bool(list_memory_scopes(self.document, load_kinds()))

    @cached_property
    def knowledge_bases(self) -> frozenset[str]:
        return list_knowledge_bases(self.document)

    @cached_property
    def secret_names(self) -> frozenset[str]:
        return list_secret_names(self.document)


# The snapshot, and the trigger at which the runs begin.
_PlanKey = tuple[UUID, str | None]

_cache: OrderedDict[_PlanKey, PreparedDocument] = OrderedDict()
_compiling: dict[_PlanKey, "asyncio.Task[PreparedDocument]"] = {}


async def load_plan(team_id: UUID, snapshot_id: UUID, root: str | None = None) -> PreparedDocument:
    """Return the document, compiled for runs that begin at ``root``, by default at its first start.

    Raises DocumentInvalid, which fails the run: a newer release may reject a document that an older one accepted.
    """
    key = (snapshot_id, root)
    cached = _cache.get(key)
    if cached is not None:
        _cache.move_to_end(key)
        return cached
    # Many runs of a new version may start at once: the first one compiles, and the others wait for its task.
    task = _compiling.get(key)
    if task is None or task.get_loop() is not asyncio.get_running_loop():
        task = asyncio.create_task(run_in_thread(_load, team_id, snapshot_id, root))
        _compiling[key] = task
        task.add_done_callback(lambda _task: _compiling.pop(key, None))
    prepared = await asyncio.shield(task)
    _cache[key] = prepared
    while len(_cache) > CACHE_SIZE:
        _cache.popitem(last=False)
    return prepared


def prepare_document(document: Document, root: str | None = None) -> PreparedDocument:
    return PreparedDocument(document, compile_plan(document, load_kinds(), root=root))


def load_document(team_id: UUID, snapshot_id: UUID) -> Document:
    with tenant([team_id]):
        return from_json(Snapshot.objects.unscoped().get(pk=snapshot_id).document)


def list_secret_names(document: Document) -> frozenset[str]:
    return frozenset(spec.name for spec in document.environment if spec.value_type == "secret")


def _load(team_id: UUID, snapshot_id: UUID, root: str | None) -> PreparedDocument:
    return prepare_document(load_document(team_id, snapshot_id), root)
