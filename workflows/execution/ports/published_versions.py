"""The version of a workflow together with those of all workflows that it runs, and the tools that they call.

A person allows a call of a workflow as it is then. What runs below it is part of what they allow, so that the version is
another one as soon as any of these workflows is published anew or gets another secret, or a connection that they use is
changed. Once the call is made, what runs below it goes on in the versions of then, and asks about tools that were changed since.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple, Self
from uuid import UUID

from django.db.models import Q

from workflows.engine.errors import SubWorkflowUnavailable
from workflows.engine.language.document import Json
from workflows.engine.nodes.agent.tool_use.tool_references import (
    iter_workflow_references,
    list_named_tools,
)
from workflows.engine.sub_workflows.children import MAX_DEPTH
from workflows.engine.tool_calls import ToolReference
from workflows.execution.memory_streams import parse_ids
from workflows.models import Snapshot, Version, Workflow, WorkflowSecret
from workflows.models.documents import from_json
from workflows.tools.approved_tools import describe_tools
from workflows.tools.port import list_connected_tools


_CACHED_SNAPSHOTS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Approval:
    """Says what a person has allowed together with a call: versions by the ids of their workflows, and tools (``Run.approval``)."""

    versions: Mapping[str, str] = field(default_factory=dict)
    tools: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, row: Mapping[str, Json]) -> Self | None:
        """Return what the row of a run says; None if nobody was asked about a call above it."""
        value = row.get("approval")
        return cls(value["versions"], value["tools"]) if value is not None else None

    def to_json(self) -> dict[str, Json]:
        return {"versions": dict(self.versions), "tools": dict(self.tools)}

    def add(self, later: "Approval") -> "Approval":
        """Return it with what a person has allowed later, of a call within this one."""
        return Approval({**self.versions, **later.versions}, {**self.tools, **later.tools})

    def choose_version(self, workflow: Workflow) -> None:
        """Let the workflow have the version that was allowed. Raise SubWorkflowUnavailable if it was published since."""
        published = workflow.published_version
        version_id = self.versions.get(str(workflow.pk))
        if published is None or str(published.pk) == version_id:
            return
        rows = Version.objects.unscoped().filter(workflow=workflow).select_related("snapshot")
        version = rows.filter(pk=version_id).first() if version_id else None
        if version is None:
            message = f"{workflow.name} was published after a person allowed the call that runs it"
            raise SubWorkflowUnavailable(message)
        workflow.published_version = version


@dataclass(frozen=True, slots=True)
class Below:
    """A workflow with everything below it: the version of each reference to a workflow, and the tools that they call."""

    version: str
    workflows: Mapping[str, Workflow | None]  # by the references that name them
    tools: Mapping[str, str]
    secrets: Sequence[str] = ()  # the secret variables of all, with the times of their last changes

    @property
    def digest(self) -> str:
        """Return the id of the workflow's version, or a digest of it with what is below if there is anything."""
        if not (self.workflows or self.tools or self.secrets):
            return self.version
        versions = {name: _describe(row) for name, row in self.workflows.items()}
        parts = [self.version, versions, self.tools, self.secrets]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def allow(self) -> Approval:
        rows = [row for row in self.workflows.values() if row is not None]
        versions = {str(row.pk): version for row in rows if (version := _describe(row))}
        return Approval(versions, self.tools)


class _References(NamedTuple):
    """The slugs and ids of the workflows that a document runs, and the tools that it calls."""

    workflows: tuple[str, ...] = ()
    tools: tuple[ToolReference, ...] = ()


def compute_version(workflow: Workflow, approval: Approval | None = None) -> str:
    """Return a text that is another one as soon as the workflow, or anything below it, is."""
    return read_below(workflow, approval).digest


def read_below(workflow: Workflow, approval: Approval | None = None) -> Below:
    """Return what the workflow runs below it, in the versions of an ``approval`` of a call above, if there was one.

    It takes a statement a level, one for each version that this process hasn't read yet, one for their secrets, and one
    each if tools of connections and of web services are called.
    """
    rows: dict[str, Workflow | None] = {}
    tools: dict[ToolReference, None] = {}
    level = [workflow]
    for depth in range(MAX_DEPTH + 1):
        references = [_list_references(row) for row in level]
        tools |= dict.fromkeys(tool for each in references for tool in each.tools)
        names = {name for each in references for name in each.workflows} - rows.keys()
        if not names or depth == MAX_DEPTH:
            break
        rows_by_name = _find_rows(workflow.team_id, names, approval)
        rows |= {name: rows_by_name.get(name) for name in names}
        level = list(rows_by_name.values())
    connected = list_connected_tools(workflow.team_id, list(tools)) if tools else []
    secrets = _list_secrets([workflow, *filter(None, rows.values())])
    return Below(str(workflow.published_version_id), rows, describe_tools(connected), secrets)


def _find_rows(
    team_id: UUID, references: Collection[str], approval: Approval | None
) -> dict[str, Workflow]:
    """Return the workflows of the team that the references name. A slug wins over an id, as in a call."""
    named = Q(slug__in=references) | Q(pk__in=parse_ids(references))
    query = Workflow.objects.unscoped().filter(named, team_id=team_id)
    rows = list(query.select_related("published_version").order_by("id"))
    if approval is not None:
        rows = [row for row in rows if _is_approved(row, approval)]
    by_id = {str(row.pk): row for row in rows}
    by_reference = by_id | {row.slug: row for row in rows}
    return {name: by_reference[name] for name in references if name in by_reference}


def _list_secrets(workflows: Iterable[Workflow]) -> list[str]:
    rows = WorkflowSecret.objects.unscoped().filter(workflow__in={row.pk for row in workflows})
    values = rows.order_by("workflow_id", "area", "name").values_list(
        "workflow_id", "area", "name", "updated_at"
    )
    return [" ".join(map(str, each)) for each in values]


def _is_approved(workflow: Workflow, approval: Approval) -> bool:
    try:
        approval.choose_version(workflow)
    except SubWorkflowUnavailable:
        return False
    return True


def _describe(workflow: Workflow | None) -> str:
    if workflow is None or workflow.is_archived:
        return ""
    return str(workflow.published_version_id or "")


def _list_references(workflow: Workflow) -> _References:
    version = workflow.published_version
    return _read_references(version.snapshot_id) if version is not None else _References()


@lru_cache(maxsize=_CACHED_SNAPSHOTS)
def _read_references(snapshot_id: UUID) -> _References:
    """Return what a document runs and calls. A snapshot never changes."""
    document = from_json(Snapshot.objects.unscoped().get(pk=snapshot_id).document)
    tools = (named.reference for node in document.nodes for named in list_named_tools(node))
    return _References(
        tuple(dict.fromkeys(iter_workflow_references(document))),
        tuple(dict.fromkeys(tool for tool in tools if tool.source != "workflow")),
    )
