"""Warns of an application's features that this engine doesn't offer, so that none is ignored in silence."""

from collections.abc import Iterator, Mapping
from typing import Final

from workflows.engine.language.document import Document, Json
from workflows.engine.language.problems import Problem, build_warning
from workflows.engine.texts import gettext_noop


# Feature of Dify → its name for people.
NOT_OFFERED: Final[Mapping[str, str]] = {
    "speech_to_text": gettext_noop("Speech to text"),
    "text_to_speech": gettext_noop("Text to speech"),
    "sensitive_word_avoidance": gettext_noop("Content moderation"),
    "annotation_reply": gettext_noop("Annotated replies"),
    "more_like_this": gettext_noop("More like this"),
}
ERROR_HANDLER: Final = "error_handler"  # of xworkflow: a body for failed runs
_NOT_OFFERED: Final = "{} is not offered here; the setting is kept, but has no effect"


def find_feature_problems(document: Document) -> Iterator[Problem]:
    """Yield a warning for each feature that is switched on and not offered."""
    for name, title in NOT_OFFERED.items():
        if _is_enabled(document.features.get(name)):
            yield _build_problem(name, title)
    if document.extra.get(ERROR_HANDLER):
        message = gettext_noop(
            "The error handler of xworkflow is not run: a failed run ends with its error."
            " It is kept and exported; to go on after a failure, set the error handling of the node"
        )
        yield build_warning("feature.not_offered", message, field=ERROR_HANDLER)


def _build_problem(name: str, title: str) -> Problem:
    message = _NOT_OFFERED.format(title)
    return build_warning("feature.not_offered", message, field=f"features.{name}")


def _is_enabled(feature: Json) -> bool:
    return isinstance(feature, Mapping) and feature.get("enabled") is True
