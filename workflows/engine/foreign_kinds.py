"""Kinds of other products: imported documents keep such nodes, but the engine cannot run them.

They are shown with their product's icon and exported unchanged; validation reports them as unknown.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from workflows.engine.appearance import (
    Appearance,
    Data,
)
from workflows.engine.text_rendering import as_text
from workflows.engine.texts import Text


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
