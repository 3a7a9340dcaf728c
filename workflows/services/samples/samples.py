"""The gallery: looking at the shipped workflows, and taking a copy of one."""

from functools import cache
from uuid import UUID

from accounts.access import Principal
from accounts.errors import NotFound
from accounts.tenancy import tenant
from workflows import memory_app, permissions
from workflows.engine.language.dsl import load_document
from workflows.engine.language.memory_usage import scopes_of
from workflows.engine.nodes import build_kinds
from workflows.engine.testing.cases import PERSON, Seed
from workflows.execution.kinds import load_kinds
from workflows.models import Folder, Workflow
from workflows.samples import BY_SLUG, SAMPLES, Sample
from workflows.services.catalog import importing
from workflows.services.debugging import cases
from workflows.services.runs.runs import subject_of


__all__ = ["SAMPLES", "Sample", "copy_sample", "offered"]


def offered() -> tuple[Sample, ...]:
    """Those that can run here: of kinds that are installed, and with a memory where they need one."""
    return tuple(sample for sample in SAMPLES if _runs_here(sample))


def copy_sample(
    principal: Principal, *, team_id: UUID, slug: str, folder: Folder | None = None
) -> Workflow:
    """A workflow of the team's own, its test cases, and what it remembers at first: all or nothing."""
    permissions.check_create(principal, team_id)
    sample = BY_SLUG.get(slug)
    if sample is None or not _runs_here(sample):
        raise NotFound
    document, _warnings = importing.read(sample.source, confirm_newer=False)
    with tenant([team_id]):
        workflow = importing.create(
            principal,
            team_id=team_id,
            document=document,
            name=str(sample.title),
            folder=folder,
            sample=slug,
        )
        for case in sample.cases:
            cases.save_case(principal, workflow=workflow, spec=cases.as_json(case))
        if memory_app.is_on():
            _plant(principal, workflow, sample)
    return workflow


def _runs_here(sample: Sample) -> bool:
    needed, remembers = _needs(sample.slug)
    return needed <= load_kinds().keys() and (memory_app.is_on() or not remembers)


@cache
def _needs(slug: str) -> tuple[frozenset[str], bool]:
    """Kinds of nodes, and whether memory; the documents are files of ours, which don't change."""
    document = load_document(BY_SLUG[slug].source).document
    return frozenset(node.kind for node in document.nodes), bool(scopes_of(document, build_kinds()))


def _plant(principal: Principal, workflow: Workflow, sample: Sample) -> None:
    """For who copies, through memory's own door. One that it refuses is left out; the door writes down why."""
    for seed in sample.memories:
        try:
            _plant_one(principal, workflow, seed)
        except memory_app.MemoryFault:
            continue


def _plant_one(principal: Principal, workflow: Workflow, seed: Seed) -> None:
    subject = subject_of(principal, None if seed.person == PERSON else seed.person)
    identity = {"user_id": subject.id, "app_id": str(workflow.pk)}
    caller = memory_app.MemoryCaller(principal, workflow.team_id, identity=identity)
    # What a person changed since an earlier copy is theirs: it stays as it is.
    if memory_app.recall(caller, scope=seed.scope, key=seed.key):
        return
    if seed.is_page:
        memory_app.write_pages(
            caller, scope=seed.scope, pages=[seed.value], reason=f"sample {workflow.sample}"
        )
        return
    memory_app.remember(
        caller,
        scope=seed.scope,
        key=seed.key,
        value=seed.value,
        metadata={**seed.metadata, "sample": workflow.sample},
        reason=f"sample {workflow.sample}",
    )
