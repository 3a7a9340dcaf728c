"""In which order people see text: response nodes take turns, each printing its template from left to right.

A response node's session opens once on some way to it every edge that could still change things was
taken, which may be long before the node runs. One session is active in a run, whichever scope it is
from; it prints text at once, follows a stream chunk by chunk, waits for a value that isn't there yet,
and passes over what was skipped. Chunks of streams nobody has come to yet are kept.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from workflows.engine.language.plan import Plan, PlanNode, Session
from workflows.engine.language.variables import MISSING, VariablePool
from workflows.engine.runtime.events import TextChunk
from workflows.engine.text_rendering import as_markdown


class Stage:
    """Where sessions of all scopes of a run stand in line: the top level, and each round of a container."""

    __slots__ = (
        "_active",
        "_position",
        "_print",
        "_waiting",
        "awaited",
        "offset",
        "speaker",
        "text",
    )

    def __init__(self, show: Callable[[TextChunk], None]) -> None:
        self._print = show
        self._active: tuple[Streaming, Session] | None = None
        self._position = 0
        self._waiting: deque[tuple[Streaming, Session]] = deque()
        self.offset = 0  # chunks of the awaited stream that were printed
        self.speaker: Streaming | None = None  # whose node's output comes next …
        self.awaited = -1  # … and which node that is
        self.text: list[str] = []

    def queue(self, scope: "Streaming", sessions: Iterable[Session]) -> None:
        self._waiting.extend((scope, session) for session in sessions)

    def leave(self, scope: "Streaming") -> None:
        """What the scope still had to say isn't said any more."""
        self._waiting = deque(entry for entry in self._waiting if entry[0] is not scope)
        if self._active is not None and self._active[0] is scope:
            self._active = None
            self.advance()

    def say(self, session: Session, text: str, source: str | None) -> None:
        self.text.append(text)
        self._print(TextChunk(session.node_id, text, source))

    def advance(self) -> None:
        self.speaker, self.awaited = None, -1
        while True:
            if self._active is None:
                if not self._waiting:
                    return
                self._active, self._position, self.offset = self._waiting.popleft(), 0, 0
            scope, session = self._active
            segments = session.segments
            while self._position < len(segments):
                segment = segments[self._position]
                if not scope.segment(session, segment):
                    self.speaker, self.awaited = scope, scope.index_of(segment[0])
                    return
                self._position += 1
                self.offset = 0
            self._active = None


class Streaming:
    """The sessions of one scope, and what its nodes have let go of."""

    __slots__ = ("_buffers", "_ended", "_plan", "_pool", "_reached", "_shut", "_stage")

    def __init__(self, plan: Plan, pool: VariablePool, stage: Stage) -> None:
        self._plan = plan
        self._pool = pool
        self._stage = stage
        self._buffers: dict[tuple[int, str], list[str]] = {}
        self._ended = bytearray(len(plan.nodes))  # 1 ran, 2 skipped
        self._shut = [session for session in plan.sessions if not session.opens_at_once]
        self._reached = {session.node: set(session.reached) for session in self._shut}

    def begin(self) -> None:
        at_once = [session for session in self._plan.sessions if session.opens_at_once]
        if at_once:
            self._open(at_once)

    def chunk(self, node: int, output: str, text: str) -> None:
        key = (node, output)
        if key not in self._plan.watched:
            return
        self._buffers.setdefault(key, []).append(text)
        self._moved(node)

    def restart(self, node: int) -> None:
        """The node tries again: what nobody saw yet of the first try is dropped.

        What was printed can't be taken back; the new try's text follows it.
        """
        for (owner, _output), buffer in self._buffers.items():
            if owner == node:
                buffer.clear()
        if node == self._stage.awaited and self._stage.speaker is self:
            self._stage.offset = 0

    def ran(self, node: int) -> None:
        self._ended[node] = 1
        self._moved(node)

    def skipped(self, node: int) -> None:
        self._ended[node] = 2
        self._moved(node)

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
        for session in opened:
            self._shut.remove(session)
        if opened:
            self._open(opened)

    def repeat(self, sessions: Iterable[Session]) -> None:
        """What rounds said that were over in an earlier attempt is heard again, in its turn."""
        self._stage.queue(self, sessions)
        self._stage.advance()

    def finish(self) -> None:
        """The scope is over: nothing that is missing now will come."""
        self._ended = bytearray(ended or 2 for ended in self._ended)
        self._stage.advance()

    def break_off(self) -> None:
        """The round was given up: what it would have said is left out."""
        self._stage.leave(self)

    # -- asked by the stage ---------------------------------------------------------------------

    def index_of(self, node: str) -> int:
        return self._plan.by_id[node]

    def segment(self, session: Session, segment: str | tuple[str, ...]) -> bool:
        """Print what there is of a segment; True when it is done with."""
        stage = self._stage
        if isinstance(segment, str):
            stage.say(session, segment, None)
            return True
        source = self._plan.by_id.get(segment[0])
        if source is None:
            return self._outside(session, segment)
        ended = self._ended[source]
        buffer = self._buffers.get((source, segment[1])) if len(segment) == 2 else None
        if buffer:
            name = self._plan.nodes[source].id
            while stage.offset < len(buffer):
                stage.offset += 1
                stage.say(session, buffer[stage.offset - 1], name)
            return bool(ended)
        if ended == 1:
            value = self._pool.get(segment)
            if value is not MISSING:
                stage.say(session, as_markdown(value), self._plan.nodes[source].id)
        return bool(ended)

    # -------------------------------------------------------------------------------------------

    def _open(self, sessions: Iterable[Session]) -> None:
        self._stage.queue(self, sorted(sessions, key=lambda session: session.node_id))
        self._stage.advance()

    def _moved(self, node: int) -> None:
        if node == self._stage.awaited and self._stage.speaker is self:
            self._stage.advance()

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

    def _outside(self, session: Session, segment: tuple[str, ...]) -> bool:
        """Built-in variables, those of the scopes around, and references to nothing."""
        if segment[0] in self._plan.unreached:
            return True  # a node no path leads to: as good as skipped
        value = self._pool.get(segment)
        self._stage.say(
            session, ".".join(segment) if value is MISSING else as_markdown(value), None
        )
        return True
