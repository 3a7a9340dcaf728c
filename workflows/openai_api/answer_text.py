"""The text of an answer as it grows. What was sent can't be taken back, so only what continues it is sent."""

from dataclasses import dataclass, field
from typing import Final

from workflows.engine.nodes.llm.reasoning import ReasoningSplitter
from workflows.execution.journal.partials import count_units


_SEPARATOR: Final = "\n\n"


def remove_reasoning(text: str) -> str:
    """Return the text without the reasoning between tags, which a node may leave in its answer."""
    splitter = ReasoningSplitter(tagged=False)
    return splitter.feed(text) + splitter.end()


@dataclass(slots=True)
class AnswerText:
    """Turns pieces of a run's text, which may begin again, into pieces that only continue.

    After a crash, a run gives its text again. As long as it is the same as before, nothing is sent twice. If it is another
    one, the whole of it follows at the end.
    """

    sent: str = ""
    _raw: str = ""
    _units: int = 0  # of the raw text, in UTF-16 as the offsets of the run's pieces
    _visible: str = ""  # without reasoning
    _splitter: ReasoningSplitter = field(default_factory=lambda: ReasoningSplitter(tagged=False))

    def add(self, offset: int, text: str) -> str:
        """Replace the run's text from the offset on, and return what is to be sent."""
        if offset < self._units:
            beginning = self._raw.encode("utf-16-le")[: 2 * offset].decode("utf-16-le", "ignore")
            self._splitter = ReasoningSplitter(tagged=False)
            self._raw, self._visible, text = "", "", beginning + text
            self._units = 0
        self._raw += text
        self._units += count_units(text)
        self._visible += self._splitter.feed(text)
        return self._send(self._visible)

    def finish(self, answer: str) -> str:
        """Return what is still to be sent of the final answer."""
        final = remove_reasoning(answer)
        # The text after a pause, or after a failed attempt whose text stays, is the end of the answer.
        if (
            self.sent
            and self.sent != final
            and (final.endswith(self.sent) or self.sent.endswith(final))
        ):
            return ""
        if final.startswith(self.sent):
            return self._send(final)
        self.sent += _SEPARATOR + final
        return _SEPARATOR + final

    def _send(self, text: str) -> str:
        if not text.startswith(self.sent):
            return ""
        rest = text[len(self.sent) :]
        self.sent = text
        return rest
