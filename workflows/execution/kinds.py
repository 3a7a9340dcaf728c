"""The node kinds of this installation: the built-in ones and those of plug-ins."""

from functools import cache

from config.plugins import listed
from workflows import memory_app
from workflows.engine.kinds import Kinds
from workflows.engine.nodes import builtin_kinds
from workflows.sandbox.full_python import offered_languages


@cache
def kinds() -> Kinds:
    """Memory's kinds are offered when the memory app is installed."""
    return builtin_kinds(
        memory=memory_app.offers_nodes(),
        remembers=memory_app.is_on(),
        plugins=listed("node_kinds"),
        scopes=_scopes(),
        languages=offered_languages(),
    )


def _scopes() -> list[tuple[str, str]]:
    """Scope words of plug-ins, for the forms of nodes."""
    if not memory_app.is_on():
        return []
    return [(kind.word, kind.label or kind.word) for kind in memory_app.plugged_scopes()]
