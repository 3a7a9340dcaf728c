"""The models in the form of a node: those of the team to choose from, and the chosen one."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.utils.translation import gettext as _

from accounts.principals import Principal
from workflows import permissions, selectors
from workflows.engine.fallback_model import NO_FALLBACK
from workflows.engine.language.document import Json
from workflows.llm.config import DEFAULT, FALLBACK, OFFLINE, normalize_name
from workflows.models import ModelProvider, Workflow
from workflows.models.provider import ModelType
from workflows.services.models.added_models import list_models
from workflows.services.models.mappings import join_name, read_chosen_models
from workflows.templatetags.provider_logos import get_logo
from workflows.views.model_choices import ModelGroup, ModelOption, list_groups


# These stand for one model each, whatever the document calls it.
_NAMELESS: Final = frozenset({DEFAULT, OFFLINE, NO_FALLBACK})


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """The value of the chosen option, and its name if it is ``missing`` among the options."""

    value: str = ""
    icon: str = "model"
    missing: str = ""


class ModelChoices:
    """The models of a list, ``first`` those that no provider has, and the one among them that a node has chosen."""

    def __init__(self, groups: Sequence[ModelGroup], first: Sequence[ModelOption]) -> None:
        self.groups, self.first = groups, first
        self._values = {option.value for group in groups for option in group.options}
        self._values.update(option.value for option in first)

    def find(self, entry: Json) -> ChosenModel:
        """Return the model of a node's data, whose name has the key ``name`` or ``model``."""
        if not isinstance(entry, Mapping) or not entry.get("provider"):
            return ChosenModel(missing="" if "" in self._values else _("Choose a model"))
        provider = normalize_name(str(entry["provider"]))
        name = str(entry.get("name") or entry.get("model") or "")
        value = f"{provider}:{'' if provider in _NAMELESS else name}"
        icon = "model" if provider in _NAMELESS else get_logo(provider)
        missing = "" if value in self._values else join_name(provider, name)
        return ChosenModel(value, icon, missing)


def build_model_context(principal: Principal, workflow: Workflow) -> dict[str, Any]:
    """Build the context of the fields of models. People who may not see the team's models choose among the others."""
    may_view = permissions.may_view_credentials(principal, workflow.team_id)
    rows: list[ModelProvider] = []
    default = fallback = ""
    if may_view:
        rows = [*selectors.list_providers(principal, workflow.team_id).filter(enabled=True)]
        chosen = read_chosen_models(principal, workflow.team_id)
        default, fallback = (join_name(**chosen[name]) for name in (DEFAULT, FALLBACK))
    groups = list_groups(rows, _build_beginning)
    return {
        "model_choices": ModelChoices(
            groups,
            (
                ModelOption(f"{DEFAULT}:", _("Team default"), default),
                ModelOption(f"{OFFLINE}:", _("Offline demo model")),
            ),
        ),
        "fallback_choices": ModelChoices(
            groups,
            (
                ModelOption("", _("Fallback of the team"), fallback or _("The team has none.")),
                ModelOption(f"{NO_FALLBACK}:", _("No fallback model")),
            ),
        ),
    }


def build_rerank_choices(principal: Principal, workflow: Workflow) -> ModelChoices:
    """Return the reranking models of the team; the names of others may be entered."""
    team_default = (ModelOption("", _("Team default")),)
    if not permissions.may_view_credentials(principal, workflow.team_id):
        return ModelChoices((), team_default)
    names: dict[str, list[str]] = defaultdict(list)
    for row in list_models(principal, workflow.team_id).filter(type=ModelType.RERANK):
        names[row.provider.name].append(row.name)
    groups = []
    for provider in selectors.list_providers(principal, workflow.team_id).filter(enabled=True):
        beginning = _build_beginning(provider)
        options = (ModelOption(f"{beginning}{name}", name) for name in names[provider.name])
        if provider.kind != OFFLINE:
            groups.append(ModelGroup(provider.name, beginning, (*options,)))
    return ModelChoices(groups, team_default)


def _build_beginning(row: ModelProvider) -> str:
    return f"{normalize_name(row.name)}:"
