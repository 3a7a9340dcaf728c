"""Lays out a document's graph. Pages and pictures use the same layout.

Each node is in a scope: the top scope or that of a container. Positions are relative to the scope's corner.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final, NamedTuple

from workflows.engine.drawing.edge_routes import (
    MAX_ROUTED_EDGES,
    MAX_ROUTED_NODES,
    Ends,
    Obstacle,
    build_route_path,
    find_detour,
)
from workflows.engine.drawing.layout import Box, arrange_in_layers
from workflows.engine.editing.layout.auto_layout import HEADER, PADDING
from workflows.engine.geometry import Shape, compute_note_shape, compute_shape
from workflows.engine.kinds import AnyKind
from workflows.engine.language.containers import MAX_NESTING
from workflows.engine.language.document import Document, EdgeSpec, NodeSpec, Note, Position


ROOT: Final = "root"  # the top scope
ORIGIN: Final = Position()


class Frame(NamedTuple):
    left: float
    top: float
    width: float
    height: float

    def widen(self, margin: float) -> "Frame":
        """Return the frame with a margin on each side."""
        left, top, width, height = self
        return Frame(left - margin, top - margin, width + 2 * margin, height + 2 * margin)


class GraphLayout:
    """The layout of one document; each part is computed once, when it is needed."""

    def __init__(self, document: Document, kinds: Mapping[str, AnyKind]) -> None:
        self.document = document
        self.kinds = kinds
        self.nodes = {node.id: node for node in document.nodes}

    @property
    def is_unplaced(self) -> bool:
        """Return whether nodes have no stored positions, so that they are laid out by their edges."""
        return bool(self._unplaced_scopes)

    @cached_property
    def _unplaced_scopes(self) -> frozenset[str]:
        """Return the scopes whose nodes have no stored positions."""
        places = {
            scope: {self.nodes[id_].position for id_ in ids} for scope, ids in self.children.items()
        }
        if len(self.nodes) > 1 and len(set().union(*places.values())) == 1:
            return frozenset(places)
        # A single node stands at the corner of the top scope, but in a container this is over the title.
        stacked = {
            scope: positions
            for scope, positions in places.items()
            if len(positions) == 1
            and (len(self.children[scope]) > 1 or (scope != ROOT and positions == {ORIGIN}))
        }
        # What writes one place for all nodes writes it for those beside the start of a container, too.
        shared = set().union(*stacked.values())
        return frozenset(
            scope
            for scope, positions in places.items()
            if scope in stacked or (scope != ROOT and positions & shared)
        )

    @property
    def shapes(self) -> dict[str, Shape]:
        return self._layout[0]

    @property
    def positions(self) -> dict[str, Position]:
        """Return the position of each node in its scope."""
        return self._layout[1]

    @cached_property
    def _layout(self) -> tuple[dict[str, Shape], dict[str, Position]]:
        """Return the shapes and positions. Containers whose content is laid out grow around it, from the inside out."""
        shapes = {
            node.id: compute_shape(node, self.kinds, is_box=node.id in self.children)
            for node in self.nodes.values()
        }
        positions = {node.id: node.position for node in self.nodes.values()}
        for scope in sorted(self._unplaced_scopes, key=self._get_depth, reverse=True):
            boxes = {
                id_: Box(shapes[id_].width, shapes[id_].height) for id_ in self.children[scope]
            }
            links = [(e.source, e.target) for e in self.document.edges if e.source in boxes]
            arranged = arrange_in_layers(boxes, links)
            left, top = (0.0, 0.0) if scope == ROOT else (PADDING, HEADER)
            positions |= {id_: Position(left + at.x, top + at.y) for id_, at in arranged.items()}
            if scope != ROOT:
                shapes[scope] = _enclose(
                    shapes[scope], [(positions[id_], boxes[id_]) for id_ in boxes]
                )
        return shapes, positions

    def _get_depth(self, scope: str) -> int:
        depth = 0
        while scope != ROOT:
            scope, depth = self.get_scope(self.nodes[scope]), depth + 1
        return depth

    @cached_property
    def children(self) -> dict[str, list[str]]:
        """Return the nodes of each scope."""
        children: dict[str, list[str]] = defaultdict(list)
        for node in self.nodes.values():
            children[self.get_scope(node)].append(node.id)
        return children

    def get_scope(self, item: NodeSpec | Note) -> str:
        """Return the scope of an item: the top if its parent is missing, inside the item itself, or nested too deeply."""
        visited, parent = {item.id}, item.parent
        while parent in self.nodes and parent not in visited and len(visited) <= MAX_NESTING:
            visited.add(parent)
            parent = self.nodes[parent].parent
        return ROOT if parent in self.nodes or item.parent not in self.nodes else str(item.parent)

    @cached_property
    def edges(self) -> dict[str, list[EdgeSpec]]:
        """Return the edges of each scope. An edge that crosses a scope's border is not drawn, but reported as a problem."""
        scopes = {id_: scope for scope, ids in self.children.items() for id_ in ids}
        edges: dict[str, list[EdgeSpec]] = defaultdict(list)
        for edge in self.document.edges:
            scope = scopes.get(edge.source)
            if scope is not None and scope == scopes.get(edge.target):
                edges[scope].append(edge)
        return edges

    def get_corner(self, scope: str) -> Position:
        """Return the corner of a scope, relative to the top scope's corner."""
        return ORIGIN if scope == ROOT else self.get_absolute_position(self.nodes[scope])

    def get_absolute_position(self, item: NodeSpec | Note) -> Position:
        """Return the position of a node or a note, relative to the top scope's corner."""
        position = item.position if isinstance(item, Note) else self.positions[item.id]
        corner = self.get_corner(self.get_scope(item))
        return Position(corner.x + position.x, corner.y + position.y)

    def build_path(self, edge: EdgeSpec, corner: Position = ORIGIN) -> str:
        """Return the path of an edge relative to its scope, or to the top scope if ``corner`` is the scope's corner."""
        ends = self.locate_ends(edge)
        detour = find_detour(ends, self.list_obstacles(edge), (edge.source, edge.target))
        x, y = corner.x, corner.y
        moved_ends = Ends(ends.x1 + x, ends.y1 + y, ends.x2 + x, ends.y2 + y)
        return build_route_path(moved_ends, detour and detour.shift(x, y))

    def locate_ends(self, edge: EdgeSpec) -> Ends:
        """Return the ends of an edge, relative to its scope."""
        source, target = self.positions[edge.source], self.positions[edge.target]
        out_x, out_y = self.shapes[edge.source].locate_source(edge.handle)
        in_x, in_y = self.shapes[edge.target].target_position
        return Ends(source.x + out_x, source.y + out_y, target.x + in_x, target.y + in_y)

    def list_obstacles(self, edge: EdgeSpec) -> list[Obstacle]:
        """Return the cards that an edge is led around: those of its scope, and none in a large graph."""
        return self._obstacles[self.get_scope(self.nodes[edge.source])]

    @cached_property
    def _obstacles(self) -> dict[str, list[Obstacle]]:
        """Return the cards of each scope."""
        obstacles: dict[str, list[Obstacle]] = defaultdict(list)
        item_count = len(self.nodes) + len(self.document.notes)
        if item_count >= MAX_ROUTED_NODES or len(self.document.edges) >= MAX_ROUTED_EDGES:
            return obstacles
        for scope, ids in self.children.items():
            for id_ in ids:
                at, shape = self.positions[id_], self.shapes[id_]
                box = Obstacle(id_, at.x, at.y, at.x + shape.width, at.y + shape.height)
                obstacles[scope].append(box)
        return obstacles

    @cached_property
    def frame(self) -> Frame:
        """Return the smallest frame around all nodes and notes, relative to the top scope's corner."""
        boxes = [
            (self.get_absolute_position(node), self.shapes[node.id]) for node in self.nodes.values()
        ]
        boxes += [
            (self.get_absolute_position(note), compute_note_shape(note))
            for note in self.document.notes
        ]
        if not boxes:
            return Frame(0, 0, 0, 0)
        left, top = (
            min(position.x for position, _ in boxes),
            min(position.y for position, _ in boxes),
        )
        right = max(position.x + size.width for position, size in boxes)
        bottom = max(position.y + size.height for position, size in boxes)
        return Frame(left, top, right - left, bottom - top)


def _enclose(shape: Shape, content: Sequence[tuple[Position, Box]]) -> Shape:
    """Return the shape of a container, at least so large that its content fits."""
    right = max(position.x + box.width for position, box in content)
    bottom = max(position.y + box.height for position, box in content)
    return replace(
        shape,
        width=max(shape.width, right + PADDING),
        height=max(shape.height, bottom + PADDING),
    )
