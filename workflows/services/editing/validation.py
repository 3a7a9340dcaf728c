"""Check the configuration of the touched nodes, without reading the rest of the draft.

Problems that concern the whole graph (references, paths, cycles) are in the full list, which has
a route of its own.
"""

from collections.abc import Iterable

from workflows.engine.editing.records import Item, build_node
from workflows.engine.language.document import Document, Mode
from workflows.engine.language.problems import Problem
from workflows.engine.language.validation.configuration import find_configuration_problems
from workflows.execution.kinds import load_kinds
from workflows.services.editing.rows import Rows


def list_problems(store: Rows, items: Iterable[Item]) -> tuple[Problem, ...]:
    nodes = tuple(build_node(item) for item in items if not item.is_note)
    document = Document(Mode(store.workflow.mode), nodes, ())
    return tuple(find_configuration_problems(document, load_kinds()))
