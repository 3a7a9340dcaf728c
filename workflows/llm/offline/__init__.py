"""The offline provider, which needs no model: it answers from the request alone, verbatim and
deterministically.
"""

from workflows.llm.offline.context import plain_answer
from workflows.llm.offline.provider import LABELS, OfflineModels


__all__ = ["LABELS", "OfflineModels", "plain_answer"]
