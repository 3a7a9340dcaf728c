"""The gallery: list the shipped workflows, and copy one into a team."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from uuid import UUID

from accounts.access import Principal
from accounts.errors import NotFound
from accounts.tenancy import tenant
from workflows import memory_app, permissions
from workflows.engine.language.document import Document, Json
from workflows.engine.language.dsl import load_document
from workflows.engine.language.memory_usage import list_memory_scopes
from workflows.engine.nodes import build_kinds
from workflows.engine.testing.cases import PERSON, Seed
from workflows.execution.kinds import load_kinds
from workflows.models import Folder, Workflow
from workflows.samples import SAMPLES, SAMPLES_BY_SLUG, Sample
from workflows.services import publishing
from workflows.services.catalog import importing
from workflows.services.debugging import cases
from workflows.services.runs.runs import resolve_subject
from workflows.services.tools.workflow_tools import change_tool_settings


def list_offered() -> tuple[Sample, ...]:
    """Return the samples whose node kinds are installed, without those that need memory if memory is off."""
    return tuple(sample for sample in SAMPLES if _is_runnable(sample))


def copy_sample(
    principal: Principal, *, team_id: UUID, slug: str, folder: Folder | None = None
) -> Workflow:
    """Create a workflow of the team with the sample's test cases and first memories, in one transaction.

    The workflows that it runs are created, too.
    """
    permissions.check_create(principal, team_id)
    sample = SAMPLES_BY_SLUG.get(slug)
    if sample is None or not _is_runnable(sample):
        raise NotFound
    document, _warnings = importing.load_source(sample.source, confirm_newer=False)
    with tenant([team_id]):
        slugs: dict[str, str] = {}  # of the other workflows; later ones may run those before them
        for name in sample.others:
            slugs[name] = _create_other(principal, team_id, sample, name, folder, slugs).slug
        document = _rename_references(document, slugs)
        workflow = importing.create_from_document(
            principal,
            team_id=team_id,
            document=document,
            name=str(sample.title),
            folder=folder,
            sample=slug,
        )
        for case in sample.cases:
            cases.save_case(principal, workflow=workflow, spec=cases.dump_case(case))
        if memory_app.is_on():
            _store_memories(principal, workflow, sample)
    return workflow


def is_helper(sample_slug: str, slug: str) -> bool:
    """Return whether a workflow with this short name was created for a sample that runs it, which published it."""
    sample = SAMPLES_BY_SLUG.get(sample_slug)
    names = sample.others if sample else ()
    return any(re.fullmatch(rf"{re.escape(name)}(-\d+)?", slug) for name in names)


def _create_other(
    principal: Principal,
    team_id: UUID,
    sample: Sample,
    name: str,
    folder: Folder | None,
    slugs: Mapping[str, str],
) -> Workflow:
    """Create a workflow that the sample runs, and publish it as a tool if the principal may publish."""
    document, _warnings = importing.load_source(sample.read_other(name), confirm_newer=False)
    document = _rename_references(document, slugs)
    workflow = importing.create_from_document(
        principal,
        team_id=team_id,
        document=document,
        name=str(sample.others[name]),
        folder=folder,
        sample=sample.slug,
        slug=name,
    )
    change_tool_settings(principal, workflow=workflow, is_tool=True)
    if permissions.may_publish(principal, workflow):
        publishing.publish(principal, workflow=workflow)
    return workflow


def _rename_references(document: Document, slugs: Mapping[str, str]) -> Document:
    for name, slug in slugs.items():
        document = _rename_reference(document, name, slug)
    return document


def _rename_reference(document: Document, name: str, slug: str) -> Document:
    """Return the document with a workflow's short name replaced by the one that it got in the team."""
    nodes = [replace(node, data=_replace_text(node.data, name, slug)) for node in document.nodes]
    return replace(document, nodes=tuple(nodes))


def _replace_text(value: Json, old: str, new: str) -> Json:
    """Return the value with each text that is the old name, or quotes it as a word, replaced."""
    if isinstance(value, str):
        return re.sub(rf"(?<![\w-]){re.escape(old)}(?![\w-])", new, value)
    if isinstance(value, Mapping):
        return {key: _replace_text(item, old, new) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_text(item, old, new) for item in value]
    return value


def _is_runnable(sample: Sample) -> bool:
    kinds, needs_memory = _get_requirements(sample.slug)
    return kinds <= load_kinds().keys() and (memory_app.is_on() or not needs_memory)


@cache
def _get_requirements(slug: str) -> tuple[frozenset[str], bool]:
    """Return the node kinds of a sample, and whether it needs memory."""
    document = load_document(SAMPLES_BY_SLUG[slug].source).document
    return frozenset(node.kind for node in document.nodes), bool(
        list_memory_scopes(document, build_kinds())
    )


def _store_memories(principal: Principal, workflow: Workflow, sample: Sample) -> None:
    """Store the sample's memories in the copy and for its test users, except those that memory refuses.

    None is stored about the person who copies the sample: other workflows would recall it as said by that person.

    Pages of the same scope and source are written at once, so that none is newer than a page that links to it.
    """
    pages: dict[tuple[str, str, str], list[Seed]] = {}
    for seed in sample.memories:
        if seed.is_page:
            source = str(seed.metadata.get("source", ""))
            pages.setdefault((seed.scope, seed.person, source), []).append(seed)
            continue
        with suppress(memory_app.MemoryFault):
            _store_memory(principal, workflow, seed)
    for seeds in pages.values():
        with suppress(memory_app.MemoryFault):
            _write_pages(principal, workflow, seeds)


def _store_memory(principal: Principal, workflow: Workflow, seed: Seed) -> None:
    """Store the entry, unless its key exists already."""
    caller = _build_caller(principal, workflow, seed)
    # An entry that the person changed since an earlier copy is not overwritten.
    if memory_app.recall(caller, scope=seed.scope, key=seed.key):
        return
    memory_app.remember(
        caller,
        scope=seed.scope,
        key=seed.key,
        value=seed.value,
        metadata={**seed.metadata, "sample": workflow.sample},
        reason=f"sample {workflow.sample}",
    )


def _write_pages(principal: Principal, workflow: Workflow, seeds: Sequence[Seed]) -> None:
    """Write the pages whose keys don't exist yet, with the source that their metadata names."""
    first = seeds[0]
    caller, scope = _build_caller(principal, workflow, first), first.scope
    missing = [seed for seed in seeds if not memory_app.recall(caller, scope=scope, key=seed.key)]
    pages = [seed.value for seed in missing]
    if not pages:
        return
    if not (title := first.metadata.get("source")):
        reason = f"sample {workflow.sample}"
        memory_app.write_pages(caller, scope=scope, pages=pages, reason=reason)
        return
    source = {"title": title, "text": "\n\n".join(page["content"] for page in pages)}
    namespace = memory_app.resolve_namespace(scope, caller.identity)
    memory_app.ingest_source(caller, source=source, pages=pages, namespace=namespace)


def _build_caller(
    principal: Principal, workflow: Workflow, seed: Seed
) -> "memory_app.MemoryCaller":
    subject = resolve_subject(principal, None if seed.person == PERSON else seed.person)
    identity = {"user_id": subject.id, "app_id": str(workflow.pk)}
    return memory_app.MemoryCaller(principal, workflow.team_id, identity=identity)
