"""What is wrong with the nodes a change touched, without reading the rest of the draft.

That is their configuration. What takes the whole graph (references, paths, circles) is in the full
list, which has a route of its own.
"""

from collections.abc import Iterable

from workflows.engine.editing.records import Item, node_of
from workflows.engine.language.document import Document, Mode
from workflows.engine.language.problems import Problem
from workflows.engine.language.validation.configuration import configuration_problems
from workflows.execution.kinds import load_kinds
from workflows.services.editing.rows import Rows


def problems_of(store: Rows, items: Iterable[Item]) -> tuple[Problem, ...]:
    nodes = tuple(node_of(item) for item in items if not item.is_note)
    alone = Document(Mode(store.workflow.mode), nodes, ())
    return tuple(configuration_problems(alone, load_kinds()))
