"""Keeps notes with the nodes that they are about while these are arranged, and off the nodes that they would cover.

A note is about the node that it lies nearest to, a coloured group about the nodes that lie inside it.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from workflows.engine.editing.context import Context
from workflows.engine.editing.layout.extents import Frame, compute_frame
from workflows.engine.editing.ops import Move, Op, Resize
from workflows.engine.editing.records import Item
from workflows.engine.editing.store import Store


# The new corner of a frame that gives way to another one.
Shift = Callable[[Frame, Frame], tuple[float, float]]

GAP: Final = 16.0  # between a note that gives way and what it gives way to


@dataclass(frozen=True, slots=True)
class NoteAnchor:
    """The node that a note is nearest to, and where the note lies from there."""

    note: str
    node: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class GroupAnchor:
    """The nodes inside a coloured group, and how far its frame reaches beyond them on each side."""

    note: str
    nodes: tuple[str, ...]
    margin_left: float
    margin_top: float
    margin_right: float
    margin_bottom: float


@dataclass(frozen=True, slots=True)
class Anchors:
    """Where the notes of a scope lie, before its nodes are arranged."""

    notes: tuple[NoteAnchor, ...]
    groups: tuple[GroupAnchor, ...]


def find_anchors(store: Store, parent: str | None, context: Context) -> Anchors:
    nodes, notes = _list_frames(store, parent, context)
    groups = tuple(
        _describe_group(note.id, frame, inside)
        for note, frame in notes
        if note.data.get("group") is True and (inside := _select_inside(nodes, frame))
    )
    group_ids = {group.note for group in groups}
    anchors = tuple(
        _describe_note(note.id, frame, nodes)
        for note, frame in notes
        if nodes and note.id not in group_ids
    )
    return Anchors(anchors, groups)


def move_notes_along(
    store: Store,
    parent: str | None,
    anchors: Anchors,
    arranged: Collection[str],
    context: Context,
    corner: tuple[float, float] | None = None,
) -> Iterator[Op]:
    """Yield what brings the notes back to the ``arranged`` nodes. Nothing may lie before the ``corner`` of a container."""
    nodes, notes = _list_frames(store, parent, context)
    notes_by_id = {note.id: (note, frame) for note, frame in notes}
    for group in anchors.groups:
        if not set(group.nodes).isdisjoint(arranged):
            yield from _enclose(notes_by_id[group.note][0], group, nodes)
    earlier_frames: list[Frame] = []
    for anchor in anchors.notes:
        note, frame = notes_by_id[anchor.note]
        obstacles = [*nodes.values()]
        if anchor.node in arranged:
            node = nodes[anchor.node]
            frame = Frame(node.x + anchor.x, node.y + anchor.y, frame.width, frame.height)
            obstacles += earlier_frames
        frame = find_free_place(frame, obstacles, corner)
        earlier_frames.append(frame)
        if (note.x, note.y) != (frame.x, frame.y):
            yield Move(note.id, frame.x, frame.y)


def find_free_place(
    frame: Frame, obstacles: Sequence[Frame], corner: tuple[float, float] | None = None
) -> Frame:
    """Return where the frame covers nothing: its own place, or the nearest one to one side of it."""
    sides = _SIDES
    if corner is not None:
        frame = Frame(max(frame.x, corner[0]), max(frame.y, corner[1]), frame.width, frame.height)
        sides = _SIDES_WITHIN
    if not any(frame.overlaps(each) for each in obstacles):
        return frame
    candidates = [_slide(frame, obstacles, move) for move in sides]
    return min(candidates, key=lambda each: abs(each.x - frame.x) + abs(each.y - frame.y))


def _slide(frame: Frame, obstacles: Sequence[Frame], move: Shift) -> Frame:
    """Move a frame past each obstacle in its way, always to the same side."""
    wide = [
        Frame(each.x - GAP, each.y - GAP, each.width + 2 * GAP, each.height + 2 * GAP)
        for each in obstacles
    ]
    for _ in wide:  # each of them is passed once at most
        hit = next((each for each in wide if frame.overlaps(each)), None)
        if hit is None:
            break
        x, y = move(frame, hit)
        frame = Frame(float(x), float(y), frame.width, frame.height)
    return frame


# How a frame gives way to an obstacle; the first of equally near places is taken.
_SIDES_WITHIN: Final[tuple[Shift, ...]] = (
    lambda frame, hit: (frame.x, math.ceil(hit.bottom)),
    lambda frame, hit: (math.ceil(hit.right), frame.y),
)
_SIDES: Final[tuple[Shift, ...]] = (
    *_SIDES_WITHIN,
    lambda frame, hit: (frame.x, math.floor(hit.y - frame.height)),
    lambda frame, hit: (math.floor(hit.x - frame.width), frame.y),
)


def _list_frames(
    store: Store, parent: str | None, context: Context
) -> tuple[dict[str, Frame], list[tuple[Item, Frame]]]:
    """Return the frames of the nodes in a scope by their ids, and its notes with theirs."""
    framed = [(item, compute_frame(item, context)) for item in store.list_children(parent)]
    nodes = {item.id: frame for item, frame in framed if not item.is_note}
    return nodes, [(item, frame) for item, frame in framed if item.is_note]


def _describe_note(note: str, frame: Frame, nodes: Mapping[str, Frame]) -> NoteAnchor:
    node = min(nodes, key=lambda id_: (_measure_distance(frame, nodes[id_]), id_))
    return NoteAnchor(note, node, frame.x - nodes[node].x, frame.y - nodes[node].y)


def _measure_distance(frame: Frame, other: Frame) -> float:
    """Return how far apart two frames are, and 0 if they touch."""
    x = max(frame.x - other.right, other.x - frame.right, 0.0)
    y = max(frame.y - other.bottom, other.y - frame.bottom, 0.0)
    return math.hypot(x, y)


def _select_inside(nodes: Mapping[str, Frame], frame: Frame) -> dict[str, Frame]:
    return {
        id_: node
        for id_, node in nodes.items()
        if frame.x <= node.x
        and frame.y <= node.y
        and node.right <= frame.right
        and node.bottom <= frame.bottom
    }


def _describe_group(note: str, frame: Frame, inside: Mapping[str, Frame]) -> GroupAnchor:
    around = _surround(inside.values())
    return GroupAnchor(
        note,
        tuple(inside),
        around.x - frame.x,
        around.y - frame.y,
        frame.right - around.right,
        frame.bottom - around.bottom,
    )


def _enclose(note: Item, group: GroupAnchor, nodes: Mapping[str, Frame]) -> Iterator[Op]:
    around = _surround([nodes[id_] for id_ in group.nodes])
    x, y = around.x - group.margin_left, around.y - group.margin_top
    width = around.width + group.margin_left + group.margin_right
    height = around.height + group.margin_top + group.margin_bottom
    if (note.width, note.height) != (width, height):
        yield Resize(note.id, width, height)
    if (note.x, note.y) != (x, y):
        yield Move(note.id, x, y)


def _surround(frames: Collection[Frame]) -> Frame:
    x, y = min(each.x for each in frames), min(each.y for each in frames)
    right, bottom = max(each.right for each in frames), max(each.bottom for each in frames)
    return Frame(x, y, right - x, bottom - y)
