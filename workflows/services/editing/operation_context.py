"""What the pure operations are handed here: the installed kinds, and ids nobody has had yet."""

import re
import secrets
from typing import Final

from workflows.engine.editing import Context
from workflows.execution.kinds import load_kinds


# No vowels, so that no word comes of it; no digit first, since an id stands in references.
_LETTERS: Final = "bcdfghjkmnpqrstvwxz0123456789"


def context() -> Context:
    return Context(load_kinds(), fresh_id)


def fresh_id(kind: str) -> str:
    """Short, and readable where it is referred to: ``llm_k3f9w``."""
    stem = re.sub(r"[^a-z0-9]+", "_", kind.lower()).strip("_")[:30] or "node"
    return f"{stem}_{''.join(secrets.choice(_LETTERS) for _ in range(6))}"
