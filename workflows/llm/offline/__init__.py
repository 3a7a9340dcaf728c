"""The offline provider, which needs no model: it answers only from the request, verbatim and deterministically."""

from workflows.llm.offline.context import extract_quoted_text
from workflows.llm.offline.phrases import LABELS
from workflows.llm.offline.provider import OfflineModels


__all__ = ["LABELS", "OfflineModels", "extract_quoted_text"]
