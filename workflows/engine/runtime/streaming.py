"""Decides in which order users see text: response nodes take turns, each printing its template from left to right.

The session of a response node opens once a run has taken every edge that can change its text on some path to the
node, which may be long before the node runs. One session is active in a run, from any scope. It prints text at once,
forwards a stream chunk by chunk, and waits for missing values. Of a value that is missing in the end, such as one of a
skipped node, an answer prints the name, as the stored answer does. Later streams are buffered.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from workflows.engine.language.document import Json
from workflows.engine.language.plan import Plan, PlanNode, Session
from workflows.engine.language.variables import MISSING, VariablePool
from workflows.engine.runtime.events import TextChunk
from workflows.engine.runtime.scheduler import EdgeState
from workflows.engine.text_rendering import as_markdown


class SessionQueue:
    """Queues the sessions of all scopes of a run: the top level, and each round of a container."""

    def __init__(self, publish: Callable[[TextChunk], None]) -> None:
        self._publish = publish
        self._active: tuple[ScopeStreaming, Session] | None = None
        self._position = 0
        self._pending: deque[tuple[ScopeStreaming, Session]] = deque()
        self.offset = 0  # chunks of the awaited stream that were printed
        self.awaited_scope: ScopeStreaming | None = None  # the scope of the next output
        self.awaited_node = -1  # the node of the next output
        self.text: list[str] = []
        self._last_session: Session | None = None  # that has printed some text

    def enqueue(self, scope: "ScopeStreaming", sessions: Iterable[Session]) -> None:
        self._pending.extend((scope, session) for session in sessions)

    def remove_scope(self, scope: "ScopeStreaming") -> None:
        """Drop the text that the scope has not printed yet."""
        self._pending = deque(entry for entry in self._pending if entry[0] is not scope)
        if self._active is not None and self._active[0] is scope:
            self._active = None
            self.advance()

    def print_text(self, session: Session, text: str, source: str | None) -> None:
        if text and session is not self._last_session:
            if session.begins_line and self._last_session is not None:
                self._print(session, "\n", None)
            self._last_session = session
        self._print(session, text, source)

    def _print(self, session: Session, text: str, source: str | None) -> None:
        self.text.append(text)
        self._publish(TextChunk(session.node_id, text, source))

    def advance(self) -> None:
        """Print what is available, up to the first output that has to be awaited."""
        self.awaited_scope, self.awaited_node = None, -1
        while True:
            if self._active is None:
                if not self._pending:
                    return
                self._active, self._position, self.offset = self._pending.popleft(), 0, 0
            scope, session = self._active
            segments = session.segments
            while self._position < len(segments):
                segment = segments[self._position]
                if not scope.print_segment(session, segment):
                    self.awaited_scope, self.awaited_node = scope, scope.get_index(segment[0])
                    return
                self._position += 1
                self.offset = 0
            self._active = None


class ScopeStreaming:
    """The sessions of one scope, and the chunks that its nodes have streamed."""

    __slots__ = ("_buffers", "_closed", "_ended", "_plan", "_pool", "_queue", "_reached")

    def __init__(self, plan: Plan, pool: VariablePool, queue: SessionQueue) -> None:
        self._plan = plan
        self._pool = pool
        self._queue = queue
        self._buffers: dict[tuple[int, str], list[str]] = {}
        self._ended = bytearray(
            len(plan.nodes)
        )  # 1 ran, 2 skipped, 3 neither, at the end of the scope
        self._closed = [session for session in plan.sessions if not session.opens_at_once]
        self._reached = {session.node: set(session.reached) for session in self._closed}

    def begin(self) -> None:
        sessions = [session for session in self._plan.sessions if session.opens_at_once]
        if sessions:
            self._open(sessions)

    def add_chunk(self, node: int, output: str, text: str) -> None:
        key = (node, output)
        if key not in self._plan.watched:
            return
        self._buffers.setdefault(key, []).append(text)
        self._advance_if_awaited(node)

    def restart(self, node: int) -> None:
        """Drop the unprinted text of a node's failed try before its next try.

        Text that was printed cannot be taken back, so the new try's text follows it.
        """
        for (owner, _output), buffer in self._buffers.items():
            if owner == node:
                buffer.clear()
        if node == self._queue.awaited_node and self._queue.awaited_scope is self:
            self._queue.offset = 0

    def mark_ran(self, node: int) -> None:
        self._ended[node] = 1
        self._advance_if_awaited(node)

    def mark_skipped(self, node: int) -> None:
        self._ended[node] = 2
        self._advance_if_awaited(node)

    def open_sessions_after(self, node: PlanNode, edges: Sequence[int]) -> None:
        """Open the sessions for which the finished node took the last edge that they waited for."""
        sessions = []
        for session in self._closed:
            reached = self._reached[session.node]
            for edge in node.outgoing:
                if edges[edge.index] == EdgeState.TAKEN and edge.index in session.blocking:
                    self._mark_reached(edge.target, session, reached, edges)
            if session.node in reached:
                sessions.append(session)
        for session in sessions:
            self._closed.remove(session)
        if sessions:
            self._open(sessions)

    def replay(self, sessions: Iterable[Session]) -> None:
        """Print once more the text of rounds that an earlier attempt finished, when it is their turn."""
        self._queue.enqueue(self, sessions)
        self._queue.advance()

    def finish(self) -> None:
        """End the scope, so that missing values are no longer awaited."""
        self._ended = bytearray(ended or 3 for ended in self._ended)
        self._queue.advance()

    def abandon(self) -> None:
        """Drop the text that a failed or paused round has not printed yet."""
        self._queue.remove_scope(self)

    # -- called by the queue --------------------------------------------------------------------

    def get_index(self, node: str) -> int:
        return self._plan.by_id[node]

    def print_segment(self, session: Session, segment: str | tuple[str, ...]) -> bool:
        """Print the available part of a segment, and return whether it is complete."""
        queue = self._queue
        if isinstance(segment, str):
            queue.print_text(session, segment, None)
            return True
        source = self._plan.by_id.get(segment[0])
        if source is None:
            return self._print_external(session, segment)
        ended = self._ended[source]
        buffer = self._buffers.get((source, segment[1])) if len(segment) == 2 else None
        if buffer:
            name = self._plan.nodes[source].id
            while queue.offset < len(buffer):
                queue.offset += 1
                queue.print_text(session, buffer[queue.offset - 1], name)
            return bool(ended)
        if ended in (1, 2):
            value = self._pool.get(segment) if ended == 1 else MISSING
            self._print_value(session, segment, value, self._plan.nodes[source].id)
        return bool(ended)

    # -------------------------------------------------------------------------------------------

    def _open(self, sessions: Iterable[Session]) -> None:
        self._queue.enqueue(self, sorted(sessions, key=lambda session: session.node_id))
        self._queue.advance()

    def _advance_if_awaited(self, node: int) -> None:
        if node == self._queue.awaited_node and self._queue.awaited_scope is self:
            self._queue.advance()

    def _mark_reached(
        self, node: int, session: Session, reached: set[int], edges: Sequence[int]
    ) -> None:
        pending = [node]
        while pending:
            node = pending.pop()
            if node in reached:
                continue
            reached.add(node)
            pending += [
                edge.target
                for edge in self._plan.nodes[node].outgoing
                if edge.index not in session.blocking or edges[edge.index] == EdgeState.TAKEN
            ]

    def _print_external(self, session: Session, segment: tuple[str, ...]) -> bool:
        """Print a built-in variable, one of an enclosing scope, or the name of an unknown one."""
        self._print_value(session, segment, self._pool.get(segment), None)
        return True

    def _print_value(
        self, session: Session, segment: tuple[str, ...], value: Json, source: str | None
    ) -> None:
        if value is not MISSING:
            self._queue.print_text(session, as_markdown(value), source)
        elif session.names_missing:
            self._queue.print_text(session, ".".join(segment), None)
