"""Replace the models that a document names by one of the team, in all nodes of the draft at once."""

from collections.abc import Collection, Iterator, Mapping

from django.utils.translation import gettext as _

from accounts.access import Principal
from workflows import permissions
from workflows.engine.editing.ops import Op, Set
from workflows.engine.language.document import Json, NodeSpec
from workflows.models import ModelProvider, Workflow
from workflows.services.editing.changes import Change
from workflows.services.editing.gestures import edit
from workflows.services.editor.drafts import load_draft
from workflows.services.models.mappings import join_name


ModelName = tuple[str, str]  # provider and model, as the document has them
_KNOWLEDGE_MODELS = ("single_retrieval_config", "metadata_model_config")


def replace_models(
    principal: Principal,
    *,
    workflow: Workflow,
    names: Collection[ModelName],
    target: ModelProvider,
    target_model: str,
) -> Change:
    """Let every node that names one of these models ask a model of the team. Undo brings the old ones back."""
    permissions.check_edit(principal, workflow)
    new = (target.name, target_model or target.default_model)
    document = load_draft(workflow)
    ops: list[Op] = [op for node in document.nodes for op in _iter_ops(node, frozenset(names), new)]
    label = _("Use the model %(name)s") % {"name": join_name(*new)[:150]}
    return edit(principal, workflow=workflow, ops=ops, label=label)


def _iter_ops(node: NodeSpec, names: frozenset[ModelName], new: ModelName) -> Iterator[Op]:
    provider, name = new
    for key, model in _iter_models(node):
        old = (str(model.get("provider")), str(model.get("name") or model.get("model") or ""))
        if old not in names:
            continue
        value: dict[str, Json] = {**model, "provider": provider, "name": name}
        if key == "single_retrieval_config":
            settings = node.data[key]
            value = {**(settings if isinstance(settings, Mapping) else {}), "model": value}
        yield Set(node.id, (key,), value)


def _iter_models(node: NodeSpec) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """Yield each setting that names a model, with the model.

    The model in the parameters of another product's agent is written as the setting ``model``, which has priority.
    """
    model = node.data.get("model")
    if isinstance(model, Mapping):
        yield "model", model
    elif isinstance(model := _read_agent_model(node), Mapping):
        yield "model", {"mode": "chat", "completion_params": {}, **_without_forms(model)}
    if node.kind != "knowledge-retrieval":
        return
    for key in _KNOWLEDGE_MODELS:
        settings = node.data.get(key)
        model = settings.get("model") if key == "single_retrieval_config" and settings else settings
        if isinstance(model, Mapping):
            yield key, model


def _read_agent_model(node: NodeSpec) -> Json:
    parameters = node.data.get("agent_parameters")
    parameter = parameters.get("model") if isinstance(parameters, Mapping) else None
    return parameter.get("value") if isinstance(parameter, Mapping) else None


def _without_forms(model: Mapping[str, Json]) -> dict[str, Json]:
    """Return what of an agent's model a node's setting ``model`` has, too."""
    settings = {
        key: model[key] for key in ("provider", "mode", "completion_params") if model.get(key)
    }
    return {**settings, "name": model.get("name") or model.get("model") or ""}
