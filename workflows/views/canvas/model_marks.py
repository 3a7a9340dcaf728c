"""The model that answers for a node, for its card: its name, and a badge if it isn't the one that the node names."""

from dataclasses import dataclass
from datetime import datetime

from django.contrib.humanize.templatetags.humanize import naturaltime
from django.utils.translation import gettext as _

from workflows.engine.language.document import NodeSpec
from workflows.llm.config import DEFAULT, OFFLINE, normalize_name
from workflows.llm.directory import ModelDirectory
from workflows.services.models.mappings import join_name, read_model, takes_facts


PAGE = "\0"  # no name of a model has it


@dataclass(frozen=True, slots=True)
class ModelMark:
    """
    ``name`` is the model that answers. ``state``: offline, unreachable or mapped; empty for the named model.
    ``around_link`` is the sentence before and after the name of the page Models, if the sentence names it.
    """

    name: str
    state: str = ""
    word: str = ""
    sentence: str = ""
    around_link: tuple[str, ...] = ()


def build_model_mark(node: NodeSpec, directory: ModelDirectory | None) -> ModelMark | None:
    """Return which model answers for the node; None if it names no model, or if that isn't known here."""
    reference = read_model(node)
    if directory is None:
        return None
    if reference is None:
        return _build_facts_mark(node, directory)
    provider, model = reference
    resolution = directory.resolve(provider, model)
    reference_name = join_name(normalize_name(provider), model)
    if resolution.is_offline:
        pattern = _explain_offline(directory, provider, reference_name)
        parts = tuple(pattern.split(PAGE))
        return ModelMark(
            _("Demo model"),
            "offline",
            _("Offline"),
            _("Models").join(parts),
            parts if len(parts) > 1 else (),
        )
    name = join_name(resolution.provider, resolution.model)
    if resolution.config and resolution.config.is_unreachable:
        return ModelMark(
            name,
            "unreachable",
            _("Not reachable"),
            _explain_unreachable(resolution.provider, resolution.config.checked_at),
        )
    if normalize_name(provider) == DEFAULT:
        return ModelMark(name)
    if resolution.is_mapped:
        sentence = _("%(named)s is not connected here; %(model)s answers instead.")
        return ModelMark(
            name, "mapped", _("Mapped"), sentence % {"named": reference_name, "model": name}
        )
    return ModelMark(resolution.model or name)


def _build_facts_mark(node: NodeSpec, directory: ModelDirectory) -> ModelMark | None:
    """Return the default model for a node that takes facts with it; None if it takes them by rules."""
    default = directory.default
    if not takes_facts(node) or default is None or default.is_offline:
        return None
    return ModelMark(default.model)


def _explain_unreachable(provider: str, checked_at: datetime | None) -> str:
    if checked_at is None:
        return _("%(provider)s could not be reached.") % {"provider": provider}
    values = {"provider": provider, "time": naturaltime(checked_at)}
    return _("%(provider)s could not be reached (%(time)s).") % values


def _explain_offline(directory: ModelDirectory, provider: str, name: str) -> str:
    """Return the sentence with ``PAGE`` for the name of the page Models."""
    if directory.is_empty:
        return _(
            "The offline demo model answers until a model is connected on the page %(page)s."
        ) % {"page": PAGE}
    if normalize_name(provider) == DEFAULT:
        return _("No default model. Choose one under %(page)s.") % {"page": PAGE}
    if normalize_name(provider) == OFFLINE:
        return _("The offline demo model answers. Select another model in this node.")
    return _("%(named)s is not connected; the offline demo model answers.") % {"named": name}
