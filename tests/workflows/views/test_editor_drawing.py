"""The canvas's HTML: what a card says, where it stands, what a change costs."""

import re
from dataclasses import replace

import pytest
from django.template.loader import render_to_string
from django.utils.translation import override

from tests.journeys.canvas_document import document as one_of_everything
from tests.support.cases import for_each
from tests.support.steps import check_growth, count_steps
from workflows.engine import geometry
from workflows.engine.editing.layout import auto_layout
from workflows.engine.language import dsl
from workflows.engine.language.document import Document, EdgeSpec, Mode, NodeSpec, Note, Position
from workflows.engine.language.problems import Problem, build_warning
from workflows.engine.nodes import build_kinds
from workflows.views.canvas.drawing import MIN_FAR_NODES, draw
from workflows.views.canvas.fragments import render_fragments
from workflows.views.canvas.notes import build_note_view, render_markdown
from workflows.views.canvas.picture import build_picture
from workflows.views.canvas.styles import escape_css_name


KINDS = build_kinds()


@pytest.fixture(scope="module")
def everything() -> Document:
    return dsl.load_document(one_of_everything()).document


def html_of(document: Document, problems=()) -> str:
    return str(draw(document, problems, KINDS).html)


def card_of(html: str, id_: str) -> str:
    [found] = re.findall(
        rf'<wf-node id="node-{id_}".*?(?=<wf-node|<svg class="wf-edges|$)', html, re.DOTALL
    )
    return found


def alone(kind: str, **data) -> str:
    return card_of(html_of(Document(Mode.WORKFLOW, (NodeSpec("n", kind, data, "Title"),), ())), "n")


def test_nodes_lie_in_the_scope_of_their_container(everything):
    html = html_of(everything)

    outer, _, rest = html.partition('<div class="wf-scope" data-scope="each">')
    assert 'data-id="each"' in outer
    assert 'data-id="inner"' in rest
    assert 'data-from="begin"' in rest.partition("</svg>")[0]


def test_note_lies_in_the_scope_of_its_container_and_in_the_picture_where_that_is():
    box = NodeSpec("box", "iteration", {}, position=Position(100, 200), width=400, height=300)
    note = Note("n", {"text": "Here"}, parent="box", position=Position(10, 20))
    document = Document(Mode.WORKFLOW, (box,), (), notes=(note,))

    _, _, inside = html_of(document).partition('data-scope="box"')

    assert 'data-id="n"' in inside
    [drawn] = build_picture(document, KINDS).notes
    assert (drawn.x, drawn.y) == ("110", "220")


def test_every_way_out_has_a_port_and_its_word(everything):
    card = card_of(html_of(everything), "choose")

    assert re.findall(r'data-port="(\w+)"', card) == ["urgent", "false"]
    assert "count &gt; 2" in card
    assert re.findall(r"<em>(.*?)</em>", card) == ["If", "Else"]


def test_failure_that_goes_its_own_way_has_a_port():
    card = alone("llm", error_strategy="fail-branch", model={"name": "m"})

    assert re.findall(r'data-port="([\w-]+)"', card) == ["source", "fail-branch"]
    assert "On failure" in card


def test_start_has_no_way_in_and_end_none_out(everything):
    html = html_of(everything)

    assert "port in" not in card_of(html, "start")
    assert "port out" not in card_of(html, "finish")


def test_memory_is_said_on_the_card(everything):
    html = html_of(everything)

    assert "User · topic" in card_of(html, "recall")
    assert "remembers" in card_of(html, "reply")
    assert "remembers" not in card_of(html, "inner")


def test_join_says_how_many_edges_it_waits_for(everything):
    html = html_of(everything)

    assert 'data-joins="2"' in card_of(html, "finish")
    assert "data-joins" not in card_of(html, "reply")


def test_problems_are_on_the_card_and_in_its_name(everything):
    wrong = [
        Problem("a", "Broken & bent", node="reply"),
        build_warning("b", "Perhaps", node="reply"),
    ]

    card = card_of(html_of(everything, wrong), "reply")

    assert 'aria-label="Answer, LLM, Problems: 2"' in card
    assert 'title="Broken &amp; bent\nPerhaps"' in card
    assert "wf-bad" in card


def test_words_are_the_readers(everything):
    with override("zh-hans"):
        assert "User" not in html_of(everything)


@pytest.mark.parametrize("kind", ["llm", "if-else", "iteration", "http-request", "nobody-knows"])
def test_hostile_node_is_only_text(kind):
    evil = '"><script>alert(1)</script>'
    spec = NodeSpec(evil, kind, {"model": {"name": evil}, "cases": [{"case_id": evil}]}, evil)

    drawing = draw(Document(Mode.WORKFLOW, (spec,), ()), (), KINDS)

    assert "<script" not in drawing.html
    assert "<script" not in drawing.rules
    assert "</style" not in drawing.rules


@for_each(
    "data",
    [
        {"cases": 3},
        {"cases": [None, "x", {"conditions": {}}]},
        {"model": "x"},
        {"variables": 5},
        {"enhanced_memory": []},
        {"code_language": ["x"]},
    ],
)
@for_each("kind", sorted(KINDS))
def test_half_written_node_is_drawn_all_the_same(kind, data):
    assert 'data-id="n"' in alone(kind, **data)


def test_positions_are_rules_with_escaped_names():
    spec = NodeSpec("a b.c", "llm", {}, "A", position=Position(8, 16.5))

    drawing = draw(Document(Mode.WORKFLOW, (spec,), ()), (), KINDS)

    assert "#node-a\\20 b\\2e c{left:8px;top:16.5px;height:64px}" in drawing.rules
    assert "style=" not in drawing.html
    assert escape_css_name("记忆-1_x") == "记忆-1_x" or escape_css_name("记忆-1_x").startswith("\\")


def test_document_nobody_placed_is_laid_out():
    nodes = tuple(NodeSpec(n, "llm", {}, n) for n in "abc")
    edges = (EdgeSpec("1", "a", "b"), EdgeSpec("2", "b", "c"))

    drawing = draw(Document(Mode.WORKFLOW, nodes, edges), (), KINDS)

    xs = [float(x) for x in re.findall(r'data-x="([\d.-]+)"', drawing.html)]
    assert drawing.is_unplaced
    assert xs == sorted(set(xs))


@pytest.mark.parametrize("place", [Position(), Position(400, 80)])
def test_content_that_nobody_placed_is_laid_out_below_the_title_of_its_container(place):
    nodes = (
        NodeSpec("first", "llm", {}, "first", position=place),
        NodeSpec("each", "iteration", {}, "each"),
        *(NodeSpec(n, "llm", {}, n, parent="each") for n in "abc"),
    )
    edges = (EdgeSpec("1", "a", "b"), EdgeSpec("2", "b", "c"))

    drawing = draw(Document(Mode.WORKFLOW, nodes, edges), (), KINDS)

    found = re.findall(
        r'data-id="(\w+)".*?data-x="([\d.-]+)" data-y="([\d.-]+)" data-w="([\d.]+)" data-h="([\d.]+)"',
        drawing.html,
    )
    boxes = {name: [float(number) for number in rest] for name, *rest in found}
    assert drawing.is_unplaced
    assert [boxes[n][1] for n in "abc"] == [auto_layout.HEADER] * 3
    assert boxes["a"][0] >= auto_layout.PADDING
    assert boxes["a"][0] < boxes["b"][0] < boxes["c"][0]
    assert boxes["c"][0] + boxes["c"][2] + auto_layout.PADDING <= boxes["each"][2]
    assert boxes["c"][1] + boxes["c"][3] + auto_layout.PADDING <= boxes["each"][3]
    assert boxes["first"][:2] == [place.x, place.y] or place == Position()


def test_single_node_in_a_container_is_laid_out_below_its_title():
    nodes = (
        NodeSpec("each", "iteration", {}, "each", position=Position(40, 40)),
        NodeSpec("a", "llm", {}, "a", parent="each"),
    )

    drawing = draw(Document(Mode.WORKFLOW, nodes, ()), (), KINDS)

    assert f'data-x="{auto_layout.PADDING:g}" data-y="{auto_layout.HEADER:g}"' in drawing.html


@pytest.mark.parametrize("parents", [{"a": "a"}, {"a": "b", "b": "a"}, {"a": "gone"}])
def test_parents_that_lead_nowhere_hide_nothing(parents):
    nodes = tuple(NodeSpec(n, "iteration", {}, n, parent=parents.get(n)) for n in "ab")

    html = html_of(Document(Mode.WORKFLOW, nodes, ()))

    assert html.count("<wf-node ") == 2


def test_edge_runs_from_port_to_port(everything):
    html = html_of(everything)

    [path] = re.findall(r'data-from="choose" data-fp="false" data-to="each"[^>]* d="([^"]+)"', html)
    y = 80 + geometry.compute_port_y(1, 2)
    assert path.startswith(f"M{640 + geometry.CARD_WIDTH:g},{y:g}L")
    assert path.endswith(f"L640,{320 + geometry.PORT_Y:g}")


def test_edge_is_led_around_a_card_between_its_ends():
    nodes = tuple(
        NodeSpec(id_, "llm", {}, id_, position=Position(x, 0))
        for id_, x in (("a", 0), ("between", 320), ("b", 640))
    )
    edges = (EdgeSpec("over", "a", "b"), EdgeSpec("near", "a", "between"))

    html = html_of(Document(Mode.WORKFLOW, nodes, edges))

    paths = dict(re.findall(r'id="edge-(\w+)".*? d="([^"]+)"', html))
    assert "C" not in paths["over"]
    assert " 304," in paths["over"].replace("Q", " ")  # it turns before the card
    assert paths["near"] == geometry.build_edge_path(256, 32, 320, 32)


def test_line_below_a_title_never_says_it_again():
    def line(kind: str, title: str, **data) -> str:
        html = html_of(Document(Mode.WORKFLOW, (NodeSpec("n", kind, data, title),), ()))
        return str(re.findall(r"<small>(.*?)</small>", html)[0])

    assert line("end", "Reply") == "End"
    assert line("end", "End").startswith("Ends the workflow")
    assert line("start", "Start") == "No inputs"
    assert line("start", "Start", variables=[{"variable": "topic"}]) == "topic"
    assert line("llm", "LLM", model={"name": "small"}) == "small"


def test_change_costs_what_it_touches(everything):
    node = next(n for n in everything.nodes if n.id == "reply")
    edge = everything.edges[0]

    made = render_fragments(
        [replace(node, title="New")], [edge], removed_ids=["x"], problems=[], kinds=KINDS
    )

    assert list(made["nodes"]) == ["reply"]
    assert made["nodes"]["reply"].startswith("<wf-node ")
    assert "<b>New</b>" in made["nodes"]["reply"]
    assert made["edges"][edge.id].startswith('<path class="wf-edge"')
    assert made["gone"] == ["x"]


def test_pinned_and_disabled_are_seen(everything):
    node = next(n for n in everything.nodes if n.id == "reply")
    off = replace(node, data={**node.data, "disabled": True})

    made = render_fragments([off], pinned=["reply"], kinds=KINDS)["nodes"]["reply"]

    assert "data-disabled" in made
    assert "is-pinned" in made


@pytest.mark.parametrize(
    ("text", "wanted", "unwanted"),
    [
        ("**bold**", "<strong>bold</strong>", "**"),
        ("<b onclick=x>hi</b>", "&lt;b", "<b "),
        ("[x](javascript:alert(1))", "javascript", "href="),
        ("![x](https://example.org/p.png)", "example.org", "<img"),
        ('{"root": {"children": [{"children": [{"text": "rich"}]}]}}', "<p>rich</p>", "root"),
    ],
)
def test_note_is_markdown_that_does_no_harm(text, wanted, unwanted):
    html = build_note_view(Note("n", {"text": text})).html

    assert wanted in html
    assert unwanted not in html


def test_note_too_deep_to_read_is_shown_as_it_is():
    text = '{"root":' * 5000

    assert render_markdown(text[:100]) in build_note_view(Note("n", {"text": text[:100]})).html


def test_graph_of_hundreds_is_begun_as_its_picture():
    few = tuple(NodeSpec(f"n{i}", "llm", {}, "") for i in range(MIN_FAR_NODES - 1))
    more = (*few, NodeSpec("last", "llm", {}, ""))

    assert not draw(Document(Mode.WORKFLOW, few, ()), (), KINDS).is_far
    assert draw(Document(Mode.WORKFLOW, more, ()), (), KINDS).is_far


def test_browser_is_told_where_the_picture_begins():
    drawing = draw(Document(Mode.WORKFLOW, (), ()), (), KINDS)

    page = render_to_string("canvas/_canvas.html", {"drawing": drawing})

    assert re.findall(r'data-far-from="(\d+)"', page) == [str(MIN_FAR_NODES)]


def test_picture_of_twice_as_many_nodes_is_twice_the_work():
    kinds = ("llm", "if-else", "memory-recall", "template-transform")
    data = {"model": {"name": "m"}, "scope": "user", "template": "x", "cases": [{"case_id": "a"}]}

    def draw_nodes(count: int) -> None:
        nodes = tuple(
            NodeSpec(f"n{i}", kinds[i % 4], data, f"Step {i}", position=Position(i, i))
            for i in range(count)
        )
        edges = tuple(
            EdgeSpec(f"e{i}", f"n{i % count}", f"n{(i * 7 + 1) % count}")
            for i in range(count * 7 // 5)
        )
        draw(Document(Mode.WORKFLOW, nodes, edges), (), KINDS)

    draw_nodes(500)  # compiled, icons read

    with count_steps(5_000_000):
        draw_nodes(500)
    check_growth(draw_nodes, 500)
