"""In which order people see text: response nodes take turns, each printing its template from left to right.

A response node's session opens once on some way to it every edge that could still change things was
taken, which may be long before the node runs. One session is active; it prints text at once, follows
a stream chunk by chunk, waits for a value that isn't there yet, and passes over what was skipped.
Chunks of streams nobody has come to yet are kept.
"""

from collections import deque
from collections.abc import Callable, Sequence

from workflows.engine.events import TextChunk
from workflows.engine.plan import Plan, PlanNode, Session
from workflows.engine.rendering import as_markdown
from workflows.engine.variables import MISSING, VariablePool


class Streaming:
    __slots__ = (
        "_active",
        "_awaited",
        "_buffers",
        "_ended",
        "_offset",
        "_plan",
        "_pool",
        "_position",
        "_print",
        "_reached",
        "_shut",
        "_waiting",
        "text",
    )

    def __init__(self, plan: Plan, pool: VariablePool, show: Callable[[TextChunk], None]) -> None:
        self._plan = plan
        self._pool = pool
        self._print = show
        self._buffers: dict[tuple[int, str], list[str]] = {}
        self._ended = bytearray(len(plan.nodes))  # 1 ran, 2 skipped
        self._active: Session | None = None
        self._awaited = -1  # the node whose output comes next
        self._position = 0
        self._offset = 0
        at_once = [session for session in plan.sessions if session.opens_at_once]
        self._waiting = deque(sorted(at_once, key=lambda session: session.node_id))
        self._shut = [session for session in plan.sessions if not session.opens_at_once]
        self._reached = {session.node: set(session.reached) for session in self._shut}
        self.text: list[str] = []

    def begin(self) -> None:
        self._advance()

    def chunk(self, node: int, output: str, text: str) -> None:
        key = (node, output)
        if key not in self._plan.watched:
            return
        self._buffers.setdefault(key, []).append(text)
        if node == self._awaited:
            self._advance()

    def restart(self, node: int) -> None:
        """The node tries again: what nobody saw yet of the first try is dropped.

        What was printed can't be taken back; the new try's text follows it.
        """
        for (owner, _output), buffer in self._buffers.items():
            if owner == node:
                buffer.clear()
        if node == self._awaited:
            self._offset = 0

    def ran(self, node: int) -> None:
        self._ended[node] = 1
        if node == self._awaited:
            self._advance()

    def skipped(self, node: int) -> None:
        self._ended[node] = 2
        if node == self._awaited:
            self._advance()

    def passed(self, node: PlanNode, edges: Sequence[int]) -> None:
        """Edges out of a gate were decided; those taken may open sessions."""
        opened = []
        for session in self._shut:
            reached = self._reached[session.node]
            for edge in node.out:
                if edges[edge.index] == 1 and edge.index in session.blocking:
                    self._reach(edge.target, session, reached, edges)
            if session.node in reached:
                opened.append(session)
        for session in sorted(opened, key=lambda session: session.node_id):
            self._shut.remove(session)
            self._waiting.append(session)
        if opened:
            self._advance()

    def finish(self) -> None:
        """The run is over: nothing that is missing now will come."""
        self._ended = bytearray(ended or 2 for ended in self._ended)
        self._advance()

    def _reach(self, node: int, session: Session, reached: set[int], edges: Sequence[int]) -> None:
        todo = [node]
        while todo:
            node = todo.pop()
            if node in reached:
                continue
            reached.add(node)
            todo += [
                edge.target
                for edge in self._plan.nodes[node].out
                if edge.index not in session.blocking or edges[edge.index] == 1
            ]

    def _advance(self) -> None:
        self._awaited = -1
        while True:
            if self._active is None:
                if not self._waiting:
                    return
                self._active, self._position, self._offset = self._waiting.popleft(), 0, 0
            segments = self._active.segments
            while self._position < len(segments):
                segment = segments[self._position]
                if not self._segment(self._active, segment):
                    self._awaited = self._plan.by_id[segment[0]]
                    return
                self._position += 1
                self._offset = 0
            self._active = None

    def _segment(self, session: Session, segment: str | tuple[str, ...]) -> bool:
        """Print what there is of a segment; True when it is done with."""
        if isinstance(segment, str):
            self._say(session, segment, None)
            return True
        source = self._plan.by_id.get(segment[0])
        if source is None:
            return self._outside(session, segment)
        ended = self._ended[source]
        buffer = self._buffers.get((source, segment[1])) if len(segment) == 2 else None
        if buffer:
            name = self._plan.nodes[source].id
            while self._offset < len(buffer):
                self._offset += 1
                self._say(session, buffer[self._offset - 1], name)
            return bool(ended)
        if ended == 1:
            value = self._pool.get(segment)
            if value is not MISSING:
                self._say(session, as_markdown(value), self._plan.nodes[source].id)
        return bool(ended)

    def _outside(self, session: Session, segment: tuple[str, ...]) -> bool:
        """System, environment and conversation variables, and references to nothing."""
        if segment[0] in self._plan.unreached:
            return True  # a node no path leads to: as good as skipped
        value = self._pool.get(segment)
        self._say(session, ".".join(segment) if value is MISSING else as_markdown(value), None)
        return True

    def _say(self, session: Session, text: str, source: str | None) -> None:
        self.text.append(text)
        self._print(TextChunk(session.node_id, text, source))
