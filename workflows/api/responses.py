"""Serialize rows for the API's responses, which contain only the fields named here."""

from workflows.engine.language.problems import Problem
from workflows.models import Credential, ModelProvider, Version, Workflow
from workflows.samples import Sample


def build_workflow(row: Workflow) -> dict[str, object]:
    published = row.published_version
    return {
        "id": row.pk,
        "team_id": row.team_id,
        "name": row.name,
        "description": row.description,
        "mode": row.mode,
        "dialect": row.dialect,
        "revision": row.revision,
        "published_version": published.number if published else None,
        "sample": row.sample,
        "folder": row.folder_id,
        "archived": row.is_archived,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
    }


def build_version(row: Version, workflow: Workflow) -> dict[str, object]:
    return {
        "number": row.number,
        "note": row.note,
        "content_hash": row.content_hash,
        "published": row.pk == workflow.published_version_id,
        "created_at": row.created_at,
    }


def build_problem(problem: Problem) -> dict[str, object]:
    return {
        "code": problem.code,
        "message": problem.message,
        "severity": problem.severity.value,
        "node": problem.node,
        "field": problem.field,
        "edge": problem.edge,
    }


def build_sample(sample: Sample) -> dict[str, object]:
    return {
        "slug": sample.slug,
        "title": str(sample.title),
        "explanation": [str(line) for line in sample.lines],
        "is_chat": sample.is_chat,
    }


def build_provider(row: ModelProvider) -> dict[str, object]:
    return {
        "id": row.pk,
        "name": row.name,
        "kind": row.kind,
        "base_url": row.base_url,
        "default_model": row.default_model,
        "enabled": row.enabled,
        "has_secret": row.credential_id is not None,
        "hint": row.credential.hint if row.credential else "",
    }


def build_credential(row: Credential) -> dict[str, object]:
    return {
        "id": row.pk,
        "name": row.name,
        "kind": row.kind,
        "base_url": row.base_url,
        "hosts": row.hosts,
        "hint": row.hint,
        "created_at": row.created_at,
        "rotated_at": row.rotated_at,
    }
