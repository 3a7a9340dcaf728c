"""Kinds of other products: imported documents keep such nodes, but the engine cannot run them.

They are shown with their product's icon and exported unchanged; validation reports them as unknown.
"""

from collections.abc import Mapping
from typing import Final

from workflows.engine.appearance import Appearance


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
    "document-extractor": _DocumentExtractor(),
    **dict.fromkeys(
        ("datasource", "knowledge-index", "trigger-plugin", "trigger-schedule", "trigger-webhook"),
        _DifyKind(),
    ),
    "gather": _XworkflowKind(),
}
