"""The node kinds of this installation: the built-in ones and those of plug-ins."""

from functools import cache

from django.conf import settings

from config.plugins import listed
from workflows.engine.kinds import Kinds
from workflows.engine.nodes import builtin_kinds
from workflows.sandbox.full_python import offered_languages


@cache
def kinds() -> Kinds:
    """Memory's kinds are offered when the memory app is installed."""
    return builtin_kinds(
        memory=settings.MEMORY_NODES_ENABLED,
        plugins=listed("node_kinds"),
        scopes=_scopes(),
        languages=offered_languages(),
    )


def _scopes() -> list[tuple[str, str]]:
    """Scope words of plug-ins, for the forms of nodes."""
    if not settings.MEMORY_ENABLED:
        return []
    # Inline import: the memory app may be switched off, and then can't be imported.
    from memory.core.scopes import plugged_scopes  # noqa: PLC0415

    return [(kind.word, kind.label or kind.word) for kind in plugged_scopes()]
