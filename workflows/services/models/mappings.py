"""Services for the team's default model, and for the models that answer for those that documents name."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from uuid import UUID

from django.db.models import F, QuerySet
from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.errors import NotFound
from accounts.tenancy import reading, tenant
from workflows import permissions
from workflows.engine.import_report.rerankers import find_reranker
from workflows.engine.language.document import Document, NodeSpec
from workflows.engine.language.problems import Problem, build_warning
from workflows.engine.nodes.memory.memory_store import FACTS, MemoryStore
from workflows.errors import InvalidValue
from workflows.execution.ports.models import load_directory
from workflows.llm.config import DEFAULT, FALLBACK, OFFLINE, normalize_name
from workflows.llm.directory import ANY_MODEL, ModelDirectory
from workflows.models import ModelMapping, ModelProvider, Node
from workflows.services import audit_lines


MAX_NAMED_MODELS = 100


@dataclass(frozen=True, slots=True)
class NamedModel:
    """A model that drafts of the team name, though the team lacks it, and the number of nodes that name it."""

    provider: str
    model: str
    count: int

    @property
    def name(self) -> str:
        return join_name(self.provider, self.model)


@dataclass(frozen=True, slots=True)
class MissingModels:
    """The models of a document that the team lacks. ``answering`` is the model that answers instead, if any."""

    names: tuple[str, ...]
    answering: str


def set_default(
    principal: Principal, *, team_id: UUID, provider: ModelProvider | None, model: str = ""
) -> None:
    """Set the team's default model, which new nodes and samples use. Without a provider, remove it."""
    if provider is None:
        permissions.check_manage(principal, team_id)
        delete_mapping(principal, team_id=team_id, name=DEFAULT, model=ANY_MODEL)
        return
    set_mapping(principal, name=DEFAULT, model=ANY_MODEL, target=provider, target_model=model)


def set_fallback(
    principal: Principal, *, team_id: UUID, provider: ModelProvider | None, model: str = ""
) -> None:
    """Set the model that is asked if another one can't be reached or refuses. Without a provider, remove it."""
    if provider is None:
        permissions.check_manage(principal, team_id)
        if read_fallback_model(principal, team_id)["provider"]:
            delete_mapping(principal, team_id=team_id, name=FALLBACK, model=ANY_MODEL)
        return
    set_mapping(principal, name=FALLBACK, model=ANY_MODEL, target=provider, target_model=model)


def set_first_default(principal: Principal, provider: ModelProvider) -> None:
    """Make a provider's model the team's default, unless the team has one."""
    rows = ModelMapping.objects.unscoped().filter(team_id=provider.team_id, provider=DEFAULT)
    if not rows.exists():
        set_default(
            principal,
            team_id=provider.team_id,
            provider=provider,
            model=provider.default_model,
        )


def set_mapping(
    principal: Principal, *, name: str, model: str, target: ModelProvider, target_model: str = ""
) -> ModelMapping:
    """Let a model of the team answer for the one that documents name. An empty ``model`` means all of the provider's."""
    permissions.check_manage(principal, target)
    name, model, target_model = normalize_name(name), model.strip(), target_model.strip()
    if not name or name == OFFLINE or max(map(len, (name, model, target_model))) > 255:
        raise InvalidValue(_("Enter the names of a provider and a model."), field="model")
    with tenant([target.team_id]):
        mapping, _created = ModelMapping.objects.unscoped().update_or_create(
            team_id=target.team_id,
            provider=name,
            model=model,
            defaults={"target": target, "target_model": target_model},
        )
        audit_lines.record(
            principal,
            target,
            "credential.changed",
            provider=target.name,
            answers_for=join_name(name, model),
        )
    return mapping


def delete_mapping(principal: Principal, *, team_id: UUID, name: str, model: str) -> None:
    """Delete a mapping. Raises NotFound if there is none."""
    permissions.check_manage(principal, team_id)
    with tenant([team_id]):
        rows = ModelMapping.objects.unscoped().select_related("target")
        mapping = rows.filter(team_id=team_id, provider=normalize_name(name), model=model).first()
        if mapping is None:
            raise NotFound
        ModelMapping.objects.unscoped().filter(pk=mapping.pk).delete()
        audit_lines.record(
            principal,
            mapping.target,
            "credential.changed",
            provider=mapping.target.name,
            answers_no_more_for=str(mapping),
        )


def list_missing_models(team_id: UUID, connected: Collection[str]) -> list[NamedModel]:
    """Return the models that drafts name and the team lacks, those of most nodes first.

    ``connected`` are the names of the team's providers.
    """
    names = {OFFLINE, DEFAULT, *map(normalize_name, connected)}
    with reading([team_id]):
        rows = (
            Node.objects.unscoped()
            .filter(
                team_id=team_id, data__model__provider__isnull=False, workflow__archived_at=None
            )
            .values_list(F("data__model__provider"), F("data__model__name"))
        )
        counts = Counter((str(provider), str(model or "")) for provider, model in rows)
    missing = [
        NamedModel(normalize_name(provider), model, count)
        for (provider, model), count in counts.most_common()
        if normalize_name(provider) not in names
    ]
    return missing[:MAX_NAMED_MODELS]


def find_missing_models(team_id: UUID, document: Document) -> MissingModels:
    """Return the models that a document names though the team lacks them, and the default that answers instead."""
    directory = load_directory(team_id)
    available = {OFFLINE, DEFAULT, *directory.configs}
    references = [reference for node in document.nodes if (reference := read_model(node))]
    names = dict.fromkeys(
        join_name(normalize_name(provider), model)
        for provider, model in references
        if normalize_name(provider) not in available
    )
    default = directory.default
    return MissingModels(
        tuple(names), join_name(default.provider, default.model) if default else ""
    )


def load_directory_for(team_id: UUID, nodes: Iterable[NodeSpec]) -> ModelDirectory | None:
    """Return the team's models if a node asks one or limits its cost, so that other documents cost no query."""
    is_needed = any(
        read_model(node) or takes_facts(node) or node.data.get("max_cost") or find_reranker(node)
        for node in nodes
    )
    return load_directory(team_id) if is_needed else None


def find_model_problems(directory: ModelDirectory | None, document: Document) -> Iterator[Problem]:
    """Yield a warning for each node whose model the team lacks, or whose provider could not be reached.

    Without any model there are none, nor for the default model if the team has chosen none: then the cards say that the
    offline demo model answers.
    """
    if directory is None or directory.is_empty:
        return
    references = [(node, *reference) for node in document.nodes if (reference := read_model(node))]
    for node, provider, model in references:
        resolution = directory.resolve(provider, model)
        if resolution.is_offline and normalize_name(provider) not in (OFFLINE, DEFAULT):
            name = join_name(normalize_name(provider), model)[:200]
            message = f"The model {name} is not connected; select a model for it on the page Models"
            yield build_warning("model.missing", message, node.id, "model")
        elif resolution.config and resolution.config.is_unreachable:
            message = f"The provider {resolution.provider[:100]} could not be reached; test it on the page Models"
            yield build_warning("model.unreachable", message, node.id, "model")


def read_model(node: NodeSpec) -> tuple[str, str] | None:
    """Return the provider and the model that a node names, or None if it has no model."""
    model = node.data.get("model")
    if not isinstance(model, dict) or not model.get("provider"):
        return None
    return str(model["provider"]), str(model.get("name") or "")


def takes_facts(node: NodeSpec) -> bool:
    """Return whether a model takes the facts that the node stores."""
    return node.kind == MemoryStore.name and node.data.get("source") == FACTS


def join_name(provider: str, model: str) -> str:
    return f"{provider}/{model}".rstrip("/")


def read_default_model(principal: Principal, team_id: UUID) -> dict[str, str]:
    """Return the names of the team's default provider and model; both are empty if it has none."""
    return read_chosen_models(principal, team_id)[DEFAULT]


def read_fallback_model(principal: Principal, team_id: UUID) -> dict[str, str]:
    """Return the names of the team's fallback provider and model; both are empty if it has none."""
    return read_chosen_models(principal, team_id)[FALLBACK]


def read_chosen_models(principal: Principal, team_id: UUID) -> dict[str, dict[str, str]]:
    """Return the names of the team's default and fallback providers and models; those that it lacks are empty."""
    permissions.check_view_credentials(principal, team_id)
    rows = ModelMapping.objects.visible_to(principal).filter(team_id=team_id)
    chosen = {DEFAULT: {"provider": "", "model": ""}, FALLBACK: {"provider": "", "model": ""}}
    for mapping in rows.filter(provider__in=[*chosen]).select_related("target"):
        model = mapping.target_model or mapping.target.default_model
        chosen[mapping.provider] = {"provider": mapping.target.name, "model": model}
    return chosen


def list_mappings(principal: Principal, team_id: UUID) -> QuerySet[ModelMapping]:
    """Return which models of a team answer for others, without the team's default and its fallback."""
    permissions.check_view_credentials(principal, team_id)
    rows = ModelMapping.objects.visible_to(principal).filter(team_id=team_id)
    return (
        rows.exclude(provider__in=[DEFAULT, FALLBACK])
        .select_related("target")
        .order_by("provider", "model")
    )
