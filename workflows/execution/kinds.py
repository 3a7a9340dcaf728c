"""The node kinds of this installation: the built-in ones and those of plug-ins."""

from functools import cache

from config.plugins import collect_lists
from workflows import memory_app
from workflows.engine.kinds import Kinds
from workflows.engine.nodes import build_kinds
from workflows.sandbox.full_python import list_languages


@cache
def load_kinds() -> Kinds:
    """Return the installed kinds; those of memory are included if memory's nodes are enabled."""
    return build_kinds(
        memory=memory_app.offers_nodes(),
        has_recall=memory_app.is_on(),
        plugins=collect_lists("node_kinds"),
        scopes=_list_scopes(),
        languages=list_languages(),
    )


def _list_scopes() -> list[tuple[str, str]]:
    """Return the scopes of plug-ins, for the forms of nodes."""
    if not memory_app.is_on():
        return []
    return [(kind.word, kind.label or kind.word) for kind in memory_app.list_plugged_scopes()]
