"""Write a document into a draft's rows, and read the rows back as a document."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from django.db.models import Model

from config.encryption.crypto import decrypt, encrypt
from workflows.engine.errors import DocumentInvalid
from workflows.engine.language.document import (
    Dialect,
    Document,
    EdgeSpec,
    Mode,
    NodeSpec,
    Note,
    Position,
    VariableSpec,
)
from workflows.engine.language.dsl.strict import measure_tree
from workflows.engine.language.problems import Problem
from workflows.models import Edge, Node, Variable, Workflow, WorkflowSecret
from workflows.models.documents import is_secret, to_json
from workflows.models.draft import VariableArea


Row = TypeVar("Row", bound=Model)

MAX_NAME_LENGTH = 255
HEADER = ("mode", "dialect", "dialect_version", "features", "extra", "most_characters")
Secrets = Mapping[tuple[str, str], str]  # (area, name) → value


def write_rows(workflow: Workflow, document: Document) -> None:
    """Replace the draft with the document. The caller holds the workflow's lock and saves its row."""
    _check(document)
    for model in (Node, Edge, Variable):
        model.objects.unscoped().filter(workflow=workflow).delete()
    _create(Node, [*_build_node_rows(workflow, document), *_build_note_rows(workflow, document)])
    _create(Edge, _build_edge_rows(workflow, document))
    _create(Variable, _build_variable_rows(workflow, document))
    _store_secrets(workflow, document)


def copy_header(workflow: Workflow, document: Document) -> None:
    """Copy the document's settings to the workflow, except its name: that belongs to the team."""
    workflow.mode = document.mode.value
    workflow.dialect = document.dialect.value
    workflow.dialect_version = document.version
    workflow.features = dict(document.features)
    workflow.extra = dict(document.extra)
    workflow.most_characters = measure_tree(to_json(document))


def read_rows(workflow: Workflow, secrets: Secrets | None = None) -> Document:
    """Return the draft as a document; it contains secret values only if they are passed in."""
    nodes = list(Node.objects.unscoped().filter(workflow=workflow).order_by("rank", "key"))
    edges = Edge.objects.unscoped().filter(workflow=workflow).order_by("rank", "key")
    variables = list(Variable.objects.unscoped().filter(workflow=workflow).order_by("rank", "name"))
    secret_values = secrets or {}
    return Document(
        mode=Mode(workflow.mode),
        nodes=tuple(_build_node(row) for row in nodes if not row.is_note),
        edges=tuple(_build_edge(row) for row in edges),
        name=workflow.name,
        description=workflow.description,
        environment=_build_variables(variables, VariableArea.ENVIRONMENT, secret_values),
        conversation=_build_variables(variables, VariableArea.CONVERSATION, secret_values),
        notes=tuple(_build_note(row) for row in nodes if row.is_note),
        features=workflow.features,
        dialect=Dialect(workflow.dialect),
        version=workflow.dialect_version,
        extra=workflow.extra,
    )


def read_secrets(workflow: Workflow) -> dict[tuple[str, str], str]:
    """Return the secret variables' decrypted values; only for the run that uses them."""
    rows = WorkflowSecret.objects.unscoped().filter(workflow=workflow)
    return {(row.area, row.name): decrypt(bytes(row.secret)) for row in rows}


def _build_node_rows(workflow: Workflow, document: Document) -> Iterable[Node]:
    for rank, node in enumerate(document.nodes):
        yield Node(
            team_id=workflow.team_id,
            workflow=workflow,
            key=node.id,
            rank=rank,
            kind=node.kind,
            title=node.title,
            parent=node.parent or "",
            data=dict(node.data),
            **_build_geometry(node),
        )


def _build_note_rows(workflow: Workflow, document: Document) -> Iterable[Node]:
    for rank, note in enumerate(document.notes):
        yield Node(
            team_id=workflow.team_id,
            workflow=workflow,
            key=note.id,
            rank=rank,
            parent=note.parent or "",
            data=dict(note.data),
            is_note=True,
            **_build_geometry(note),
        )


def _build_geometry(item: NodeSpec | Note) -> dict[str, Any]:  # Any: fields of several types
    return {
        "x": item.position.x,
        "y": item.position.y,
        "width": item.width,
        "height": item.height,
        "extra": dict(item.extra),
    }


def _build_edge_rows(workflow: Workflow, document: Document) -> Iterable[Edge]:
    key_counts: Counter[str] = Counter()
    for rank, edge in enumerate(document.edges):
        # No part refers to an edge by its id, so hand-written documents may repeat an id.
        key_counts[edge.id] += 1
        yield Edge(
            team_id=workflow.team_id,
            workflow=workflow,
            key=edge.id if key_counts[edge.id] == 1 else f"{edge.id}#{key_counts[edge.id]}",
            rank=rank,
            source=edge.source,
            target=edge.target,
            handle=edge.handle,
            target_handle=edge.target_handle,
            extra=dict(edge.extra),
        )


def _build_variable_rows(workflow: Workflow, document: Document) -> Iterable[Variable]:
    for area, specs in _list_areas(document):
        for rank, spec in enumerate(specs):
            yield Variable(
                team_id=workflow.team_id,
                workflow=workflow,
                area=area,
                name=spec.name,
                key=spec.id,
                rank=rank,
                value_type=spec.value_type,
                value=None if is_secret(spec.value_type) else spec.value,
                description=spec.description,
                extra=dict(spec.extra),
            )


def _store_secrets(workflow: Workflow, document: Document) -> None:
    """Store the secrets that have a value.

    An export has empty strings instead of secrets, so importing it again must not clear the stored secrets.
    """
    rows = [
        WorkflowSecret(
            team_id=workflow.team_id,
            workflow=workflow,
            area=area,
            name=spec.name,
            secret=encrypt(str(spec.value)),
        )
        for area, specs in _list_areas(document)
        for spec in specs
        if is_secret(spec.value_type) and spec.value not in (None, "")
    ]
    WorkflowSecret.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["workflow", "area", "name"],
        update_fields=["secret", "updated_at"],
    )


def _list_areas(document: Document) -> tuple[tuple[VariableArea, tuple[VariableSpec, ...]], ...]:
    return (
        (VariableArea.ENVIRONMENT, document.environment),
        (VariableArea.CONVERSATION, document.conversation),
    )


def _create(model: type[Row], rows: Iterable[Row]) -> None:
    model._default_manager.bulk_create(rows, batch_size=500)


def _build_node(row: Node) -> NodeSpec:
    return NodeSpec(
        id=row.key,
        kind=row.kind,
        data=row.data,
        title=row.title,
        parent=row.parent or None,
        position=Position(row.x, row.y),
        width=row.width,
        height=row.height,
        extra=row.extra,
    )


def _build_note(row: Node) -> Note:
    return Note(
        id=row.key,
        data=row.data,
        parent=row.parent or None,
        position=Position(row.x, row.y),
        width=row.width,
        height=row.height,
        extra=row.extra,
    )


def _build_edge(row: Edge) -> EdgeSpec:
    return EdgeSpec(
        id=row.key,
        source=row.source,
        target=row.target,
        handle=row.handle,
        target_handle=row.target_handle,
        extra=row.extra,
    )


def _build_variables(
    rows: Iterable[Variable], area: VariableArea, secrets: Secrets
) -> tuple[VariableSpec, ...]:
    return tuple(
        VariableSpec(
            name=row.name,
            value_type=row.value_type,
            value=secrets.get((area, row.name), "") if is_secret(row.value_type) else row.value,
            id=row.key,
            description=row.description,
            extra=row.extra,
        )
        for row in rows
        if row.area == area
    )


def _check(document: Document) -> None:
    """Raise DocumentInvalid with the problems of a document that the tables cannot hold."""
    problems = [*_find_long_names(document), *_find_duplicates(document)]
    if problems:
        raise DocumentInvalid(problems)


def _find_long_names(document: Document) -> Iterable[Problem]:
    sentence = f"An ID or name can have at most {MAX_NAME_LENGTH} characters"
    for key in _list_ids(document):
        if len(key) > MAX_NAME_LENGTH:
            yield Problem("node.id_too_long", sentence, node=key)
    for edge in document.edges:
        if (
            max(map(len, (edge.source, edge.target, edge.handle, edge.target_handle)))
            > MAX_NAME_LENGTH
        ):
            yield Problem("edge.end_too_long", sentence, edge=edge.id)
    for _area, specs in _list_areas(document):
        for spec in specs:
            if max(len(spec.name), len(spec.id)) > MAX_NAME_LENGTH:
                yield Problem("variable.name_too_long", sentence, field=spec.name)


def _list_ids(document: Document) -> list[str]:
    """Return the ids of nodes and notes, which share one table and so one set of ids."""
    return [node.id for node in document.nodes] + [note.id for note in document.notes]


def _find_duplicates(document: Document) -> Iterable[Problem]:
    for key, count in Counter(_list_ids(document)).items():
        if count > 1:
            yield Problem("node.id_twice", f"{count} nodes have this ID", node=key)
    for _area, specs in _list_areas(document):
        for name, count in Counter(spec.name for spec in specs).items():
            if count > 1:
                yield Problem(
                    "variable.name_twice", f"{count} variables are named {name}", field=name
                )
