"""Kinds of other products: imported documents keep such nodes, but the engine cannot run them.

They are shown with their product's icon and exported unchanged; validation reports them as unknown.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from workflows.engine.appearance import (
    Appearance,
    Data,
    HandleLabel,
    get_model_name,
    join_object_names,
    list_objects,
)
from workflows.engine.text_rendering import as_text
from workflows.engine.texts import Phrase, Text, gettext_noop


class _Agent(Appearance):
    name = "agent"
    icon = "model"
    family = "model"
    dialects = ("dify", "xworkflow")

    def summarize(self, data: Data) -> Iterable[Text]:
        return [get_model_name(data.get("model"))]


class _QuestionClassifier(Appearance):
    name = "question-classifier"
    icon = "branch"
    family = "model"
    dialects = ("dify", "xworkflow")

    def label_handles(self, data: Data) -> Mapping[str, HandleLabel]:
        return {
            str(each.get("id")): HandleLabel(text=[as_text(each.get("name"))])
            for each in list_objects(data.get("classes"))
        }


class _ParameterExtractor(Appearance):
    name = "parameter-extractor"
    icon = "template"
    family = "model"
    dialects = ("dify", "xworkflow")

    def summarize(self, data: Data) -> Iterable[Text]:
        return [join_object_names(data.get("parameters"), "name")]


class _HumanInput(Appearance):
    name = "human-input"
    icon = "person"
    family = "logic"
    dialects = ("dify",)

    def label_handles(self, data: Data) -> Mapping[str, HandleLabel]:
        actions = {
            str(action.get("id")): HandleLabel(text=[as_text(action.get("title"))])
            for action in list_objects(data.get("user_actions"))
        }
        return {**actions, "__timeout": HandleLabel(Phrase(gettext_noop("Timeout")))}


class _Tool(Appearance):
    name = "tool"
    icon = "link"
    dialects = ("dify", "xworkflow")

    def summarize(self, data: Data) -> Iterable[Text]:
        return [as_text(data.get("tool_label"))]


class _DocumentExtractor(Appearance):
    name = "document-extractor"
    icon = "template"
    dialects = ("dify", "xworkflow")


class UnknownAppearance(Appearance):
    """The appearance of an unknown kind."""

    icon = "warning"
    family = "unknown"


class _OfDify(UnknownAppearance):
    dialects = ("dify",)


class _OfXworkflow(UnknownAppearance):
    dialects = ("xworkflow",)


FOREIGN_KINDS: Final[Mapping[str, Appearance]] = {
    **{
        kind.name: kind
        for kind in (
            _Agent(),
            _QuestionClassifier(),
            _ParameterExtractor(),
            _HumanInput(),
            _Tool(),
            _DocumentExtractor(),
        )
    },
    **dict.fromkeys(
        ("datasource", "knowledge-index", "trigger-plugin", "trigger-schedule", "trigger-webhook"),
        _OfDify(),
    ),
    "gather": _OfXworkflow(),
}
