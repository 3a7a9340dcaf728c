"""Separates a model's reasoning from its answer while both are streamed in pieces of any length."""

_OPEN = "<think>"
_CLOSE = "</think>"


class ReasoningSplitter:
    """Splits a streamed answer into text and reasoning. With ``tagged`` the reasoning stays in the text between tags."""

    __slots__ = ("_buffer", "_inside", "_open_tag", "_started", "_tagged", "reasoning", "text")

    def __init__(self, *, tagged: bool) -> None:
        self._tagged = tagged
        self._inside = False  # between the tags
        self._started = False  # something besides white space was streamed
        self._buffer = ""  # may be the start of a tag
        self._open_tag = False  # an added tag, for models that send thinking separately
        self.text: list[str] = []
        self.reasoning: list[str] = []

    def feed(self, text: str, reasoning: str = "") -> str:
        """Add a piece of the stream, and return its part of the answer."""
        if self._tagged:
            answer = self._add_tags(text, reasoning)
        else:
            if reasoning:
                self.reasoning.append(reasoning)
            answer = self._separate(text)
        if answer:
            self.text.append(answer)
        return answer

    def end(self) -> str:
        """End the stream and return the rest of the answer."""
        answer = f"\n{_CLOSE}\n" if self._open_tag else ""
        if self._buffer:
            if self._inside:
                self.reasoning.append(self._buffer)
            else:
                answer += self._buffer
        self._buffer, self._open_tag = "", False
        if answer:
            self.text.append(answer)
        return answer

    def _add_tags(self, text: str, reasoning: str) -> str:
        answer = ""
        if reasoning:
            answer = reasoning if self._open_tag else f"{_OPEN}\n{reasoning}"
            self._open_tag = True
        if text and self._open_tag:
            answer += f"\n{_CLOSE}\n"
            self._open_tag = False
        return answer + text

    def _separate(self, text: str) -> str:
        self._buffer += text
        answer = ""
        while self._buffer:
            tag = _CLOSE if self._inside else _OPEN
            before, separator, after = self._buffer.partition(tag)
            if not separator:
                end = len(self._buffer) - _count_partial_tag(self._buffer, tag)
                before, self._buffer = self._buffer[:end], self._buffer[end:]
                return answer + self._route_piece(before)
            answer += self._route_piece(before)
            self._inside = not self._inside
            self._buffer = after
        return answer

    def _route_piece(self, piece: str) -> str:
        if self._inside:
            if piece:
                self.reasoning.append(piece)
            return ""
        if not self._started:  # the blank lines after the thinking aren't part of the answer
            piece = piece.lstrip()
            self._started = bool(piece)
        return piece


def _count_partial_tag(text: str, tag: str) -> int:
    """Return how many characters at the end of the text might begin the tag."""
    for length in range(min(len(tag) - 1, len(text)), 0, -1):
        if tag.startswith(text[-length:]):
            return length
    return 0
