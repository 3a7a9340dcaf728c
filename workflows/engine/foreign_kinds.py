"""Kinds of other products: imported documents keep such nodes, but the engine cannot run them.

They are shown with their product's icon and exported unchanged; validation reports them as unknown.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from workflows.engine.appearance import (
    Appearance,
    Data,
    HandleLabel,
    iter_objects,
    join_object_names,
)
from workflows.engine.text_rendering import as_text
from workflows.engine.texts import Text


class _QuestionClassifier(Appearance):
    name = "question-classifier"
    icon = "branch"
    family = "model"
    dialects = ("dify", "xworkflow")

    def label_handles(self, data: Data) -> Mapping[str, HandleLabel]:
        return {
            str(category.get("id")): HandleLabel(text=[as_text(category.get("name"))])
            for category in iter_objects(data.get("classes"))
        }


class _ParameterExtractor(Appearance):
    name = "parameter-extractor"
    icon = "template"
    family = "model"
    dialects = ("dify", "xworkflow")

    def summarize(self, data: Data) -> Iterable[Text]:
        return [join_object_names(data.get("parameters"), "name")]


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
    """The appearance of a kind about which nothing is known."""

    icon = "warning"
    family = "unknown"


class _DifyKind(UnknownAppearance):
    dialects = ("dify",)


class _XworkflowKind(UnknownAppearance):
    dialects = ("xworkflow",)


FOREIGN_KINDS: Final[Mapping[str, Appearance]] = {
    **{
        kind.name: kind
        for kind in (
            _QuestionClassifier(),
            _ParameterExtractor(),
            _Tool(),
            _DocumentExtractor(),
        )
    },
    **dict.fromkeys(
        ("datasource", "knowledge-index", "trigger-plugin", "trigger-schedule", "trigger-webhook"),
        _DifyKind(),
    ),
    "gather": _XworkflowKind(),
}
