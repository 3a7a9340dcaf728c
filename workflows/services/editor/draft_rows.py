"""Write a document into a draft's rows, and read the rows back as a document."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from django.db.models import Model

from config.encryption.crypto import decrypt, encrypt
from workflows.engine.editing import records
from workflows.engine.editing.records import EdgeRecord, Item, VariableRecord
from workflows.engine.errors import DocumentInvalid
from workflows.engine.language.document import Dialect, Document, Mode, VariableSpec
from workflows.engine.language.dsl.limits import measure_tree
from workflows.engine.language.problems import Problem
from workflows.models import Edge, Node, Variable, Workflow, WorkflowSecret
from workflows.models.documents import is_secret, to_json
from workflows.models.draft import VariableArea


MAX_NAME_LENGTH = 255
HEADER = ("mode", "dialect", "dialect_version", "features", "extra", "most_characters")
# The columns that have the same name as the record's field: all except the key, the parent and the value.
NODE_COLUMNS = ("rank", "kind", "title", "x", "y", "width", "height", "data", "extra", "is_note")
EDGE_COLUMNS = ("rank", "source", "target", "handle", "target_handle", "extra")
VARIABLE_COLUMNS = ("rank", "area", "name", "value_type", "description", "extra")

Secrets = Mapping[tuple[str, str], str]  # (area, name) → value
Columns = dict[str, Any]  # Any: columns of several types


def write_rows(workflow: Workflow, document: Document) -> None:
    """Replace the draft's rows by those of the document. The caller has locked the workflow and saves its row."""
    check_document(document)
    for model in (Node, Edge, Variable):
        model.objects.unscoped().filter(workflow=workflow).delete()
    items = [records.build_item(node, rank) for rank, node in enumerate(document.nodes)]
    items += [records.build_item(note, rank) for rank, note in enumerate(document.notes)]
    variables = [
        records.build_variable_record(area, spec, rank)
        for area, specs in _list_areas(document)
        for rank, spec in enumerate(specs)
    ]
    _create(workflow, Node, map(dump_item, items))
    _create(workflow, Edge, map(dump_edge, _build_edges(document)))
    _create(workflow, Variable, map(dump_variable, variables))
    _store_secrets(workflow, document)


def copy_header(workflow: Workflow, document: Document) -> None:
    """Copy the document's settings to the workflow, except its name, which the team has chosen."""
    workflow.mode = document.mode.value
    workflow.dialect = document.dialect.value
    workflow.dialect_version = document.version
    workflow.features = dict(document.features)
    workflow.extra = dict(document.extra)
    workflow.most_characters = measure_tree(to_json(document))


def read_rows(workflow: Workflow, secrets: Secrets | None = None) -> Document:
    """Return the draft as a document; it contains secret values only if they are passed in."""
    nodes = Node.objects.unscoped().filter(workflow=workflow).order_by("rank", "key")
    edges = Edge.objects.unscoped().filter(workflow=workflow).order_by("rank", "key")
    variables = list(Variable.objects.unscoped().filter(workflow=workflow).order_by("rank", "name"))
    items = [load_item(row) for row in nodes]
    return Document(
        mode=Mode(workflow.mode),
        nodes=tuple(records.build_node(item) for item in items if not item.is_note),
        edges=tuple(records.build_edge(load_edge(row)) for row in edges),
        name=workflow.name,
        description=workflow.description,
        environment=_build_variables(variables, VariableArea.ENVIRONMENT, secrets or {}),
        conversation=_build_variables(variables, VariableArea.CONVERSATION, secrets or {}),
        notes=tuple(records.build_note(item) for item in items if item.is_note),
        features=workflow.features,
        dialect=Dialect(workflow.dialect),
        version=workflow.dialect_version,
        extra=workflow.extra,
    )


def read_secrets(workflow: Workflow) -> dict[tuple[str, str], str]:
    """Return the decrypted values of the secret variables, for a run or an export that may contain them."""
    rows = WorkflowSecret.objects.unscoped().filter(workflow=workflow)
    return {(row.area, row.name): decrypt(bytes(row.secret)) for row in rows}


def dump_item(item: Item) -> Columns:
    return {"key": item.id, "parent": item.parent or "", **_select(item, NODE_COLUMNS)}


def dump_edge(edge: EdgeRecord) -> Columns:
    return {"key": edge.id, **_select(edge, EDGE_COLUMNS)}


def dump_variable(variable: VariableRecord) -> Columns:
    value = None if variable.is_secret else variable.value
    return {"key": variable.id, "value": value, **_select(variable, VARIABLE_COLUMNS)}


def load_item(row: Node) -> Item:
    return Item(id=row.key, parent=row.parent or None, **_select(row, NODE_COLUMNS))


def load_edge(row: Edge) -> EdgeRecord:
    return EdgeRecord(id=row.key, **_select(row, EDGE_COLUMNS))


def load_variable(row: Variable) -> VariableRecord:
    return VariableRecord(id=row.key, value=row.value, **_select(row, VARIABLE_COLUMNS))


def _select(source: object, columns: Iterable[str]) -> Columns:
    return {name: getattr(source, name) for name in columns}


def _build_edges(document: Document) -> Iterable[EdgeRecord]:
    """Yield the edges. A repeated id gets a number: hand-written documents may repeat it, since nothing refers to it."""
    counts: Counter[str] = Counter()
    for rank, edge in enumerate(document.edges):
        counts[edge.id] += 1
        count = counts[edge.id]
        key = edge.id if count == 1 else f"{edge.id}#{count}"
        yield records.build_edge_record(replace(edge, id=key), rank)


def _store_secrets(workflow: Workflow, document: Document) -> None:
    """Store the secrets that have a value. The empty ones of an imported export must not clear the stored secrets."""
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


def _create(workflow: Workflow, model: type[Model], rows: Iterable[Columns]) -> None:
    model._default_manager.bulk_create(
        [model(team_id=workflow.team_id, workflow=workflow, **columns) for columns in rows],
        batch_size=500,
    )


def _build_variables(
    rows: Iterable[Variable], area: VariableArea, secrets: Secrets
) -> tuple[VariableSpec, ...]:
    return tuple(
        records.build_variable(
            replace(record, value=secrets.get((area, record.name), ""))
            if record.is_secret
            else record
        )
        for record in map(load_variable, rows)
        if record.area == area
    )


def check_document(document: Document) -> None:
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
            yield Problem(
                "node.id_twice",
                f"{count} nodes have this ID, and no edge says which of them it means",
                node=key,
            )
    for _area, specs in _list_areas(document):
        for name, count in Counter(spec.name for spec in specs).items():
            if count > 1:
                yield Problem(
                    "variable.name_twice", f"{count} variables are named {name}", field=name
                )
