"""Routes of ``/api/v1/node-kinds``: the kinds of nodes of this installation, with the schemas of their settings."""

from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema
from ninja.pagination import paginate
from pydantic import Field, ValidationError

from accounts.errors import NotFound
from accounts.http.auth import api_auth
from accounts.principals import get_principal
from config.http.pages import Listing, Pages, list_rows
from workflows.engine.kinds import AnyKind, Output
from workflows.engine.language.document import Json, NodeSpec
from workflows.execution.kinds import load_kinds


router = Router(auth=api_auth(), tags=["workflows"])


class KindOutputOut(Schema):
    name: str
    type: str
    help: str


class NodeKindOut(Schema):
    """A kind of nodes. ``config_schema`` is the JSON Schema of the ``data`` of its nodes, whose ``type`` is ``name``."""

    name: str
    title: str
    description: str
    group: str = Field(description="The group of the palette.")
    aliases: list[str] = Field(description="Other names that documents may use.")
    mode: str | None = Field(
        description="The only mode of workflows that the palette offers it in."
    )
    execution: str = Field(description="Its role in a run, such as root, branch or container.")
    has_effect: bool
    needs_memory: bool
    outputs: list[KindOutputOut] = Field(
        description="Those of a new node, without those that its settings name."
    )
    config_schema: dict[str, Any]


@router.get("/node-kinds", response=list[NodeKindOut], summary="List node kinds")
@paginate(Pages)
def list_node_kinds(request: HttpRequest) -> Listing[AnyKind]:
    """Return the kinds of nodes that documents may use here, by name; those of plug-ins are among them."""
    get_principal(request)
    kinds = load_kinds()
    return list_rows(
        [kinds[name] for name in sorted(kinds)], lambda rows: list(map(_serialize_kind, rows))
    )


@router.get("/node-kinds/{str:name}", response=NodeKindOut, summary="Get a node kind")
def read_node_kind(request: HttpRequest, name: str) -> dict[str, object]:
    """Return a kind of nodes, by its name or by another name that documents may use."""
    get_principal(request)
    kind = load_kinds().get(name)
    if kind is None:
        raise NotFound(field="name")
    return _serialize_kind(kind)


def _serialize_kind(kind: AnyKind) -> dict[str, object]:
    return {
        "name": kind.name,
        "title": kind.title,
        "description": kind.description,
        "group": kind.group,
        "aliases": list(kind.aliases),
        "mode": kind.mode,
        "execution": kind.execution,
        "has_effect": kind.has_effect,
        "needs_memory": kind.needs_memory,
        "outputs": _list_outputs(kind),
        "config_schema": _build_schema(kind),
    }


def _list_outputs(kind: AnyKind) -> list[Output]:
    try:
        data = kind.build_initial_data(("start", "text"))
        return list(kind.list_outputs(NodeSpec(kind.name, kind.name, data)))
    except ValidationError:
        return []  # the outputs depend on settings that every node of the kind must have


def _build_schema(kind: AnyKind) -> dict[str, Json]:
    """Return the schema of the settings with the name of the kind, which every node has as its ``type``."""
    schema = kind.config_model.model_json_schema()
    names = {"type": {"const": kind.name}, "title": {"type": "string"}}
    properties = {**names, **schema.get("properties", {})}
    required = sorted({"type", *schema.get("required", ())})
    return {**schema, "type": "object", "properties": properties, "required": required}
