"""The table of node kinds in the docs says of each what the palette, the formats and the worker do with it."""

import re

from tests.durability.test_every_kind import ELSEWHERE
from tests.durability.test_every_kind import KINDS as RUN_IN_A_WORKER
from tests.support.cases import for_each
from tests.support.documents import document, node
from workflows.engine.language.document import Dialect, Mode
from workflows.engine.language.dsl import export_document
from workflows.engine.nodes import build_kinds
from workflows.management.reference import render_node_kinds
from workflows.views.editor.palette import list_palette_groups


KINDS = build_kinds()
ROW = re.compile(
    r"^\| \[`([a-z-]+)`\]\(#[^)]+\) \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$", re.MULTILINE
)
ROWS = {name: tuple(map(str.strip, rest)) for name, *rest in ROW.findall(render_node_kinds())}
OFFERED = {
    mode: {item.kind: group.title for group in list_palette_groups(mode) for item in group.items}
    for mode in Mode
}


def test_table_has_every_kind_once():
    assert sorted(ROWS) == sorted({kind.name for kind in KINDS.values()})


@for_each("name", sorted(ROWS))
def test_place_is_where_the_palette_offers_the_kind(name):
    place = ROWS[name][0]
    offered = {mode: groups[name] for mode, groups in OFFERED.items() if name in groups}

    if not offered:
        assert place == "comes with its container"
        return
    [group] = set(offered.values())
    only = {1: f", {'chats' if Mode.CHAT in offered else 'workflows'} only"}.get(len(offered), "")
    assert place == f"{group}{only}"


@for_each("name", sorted(ROWS))
def test_marks_are_the_formats_that_take_the_kind_without_a_warning(name):
    marks = dict(zip((Dialect.DIFY, Dialect.XWORKFLOW), ROWS[name][1:], strict=True))
    drawn = document([node("n", name)], [])

    for dialect, mark in marks.items():
        warnings = export_document(drawn, dialect, kinds=KINDS).warnings
        codes = {problem.code for problem in warnings}
        assert (mark == "yes") is ("export.kind" not in codes)


def test_every_kind_is_run_in_a_worker_by_a_test():
    assert set(RUN_IN_A_WORKER) == set(KINDS)
    assert {KINDS[name].name for name in ELSEWHERE} == {
        *("loop-end", "sub-workflow", "iteration-start", "loop-start"),
    }
