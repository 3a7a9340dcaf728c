"""The context of the editing operations: the installed node kinds and fresh ids."""

import re
import secrets
from typing import Final

from django.utils.translation import gettext

from workflows.engine.editing import Context
from workflows.execution.kinds import load_kinds


# Without vowels, so that an id contains no accidental words.
_ID_CHARACTERS: Final = "bcdfghjkmnpqrstvwxz0123456789"


def build_context() -> Context:
    return Context(load_kinds(), generate_id, gettext)


def generate_id(kind: str) -> str:
    """Return a new id, short and readable in references: ``llm_k3f9w``."""
    stem = re.sub(r"[^a-z0-9]+", "_", kind.lower()).strip("_")[:30] or "node"
    return f"{stem}_{''.join(secrets.choice(_ID_CHARACTERS) for _ in range(6))}"
