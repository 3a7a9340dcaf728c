"""What curation looks at: one piece of finished work, and what it may not mistake for news."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from memory.core.records import Source
from memory.logic.entries.secrets import redact


class Status(StrEnum):
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class FinishedWork:
    """A run, a task, or a conversation.

    ``recalled``: texts of entries that were put before a model in it. They come out again in its
    answers, and must not be learnt again. ``written``: what it stored itself, which is known, too.
    ``outside``: strangers, as on the web, may have said it.
    """

    task: str
    status: Status = Status.SUCCEEDED
    outputs: Sequence[str] = ()
    errors: Sequence[str] = ()
    recalled: Sequence[str] = ()
    written: Sequence[str] = ()
    language: str = "en"
    exit_code: int | None = None
    outside: bool = False
    source: Source = field(default_factory=Source)

    @property
    def succeeded(self) -> bool:
        return self.status is Status.SUCCEEDED


def redacted(work: FinishedWork, known: Sequence[str] = ()) -> FinishedWork:
    """Before anything else reads it: neither a model nor a curator sees a secret."""

    def clean(text: str) -> str:
        return str(redact(text, known).value)

    return replace(
        work,
        task=clean(work.task),
        outputs=tuple(map(clean, work.outputs)),
        errors=tuple(map(clean, work.errors)),
        recalled=tuple(map(clean, work.recalled)),
        written=tuple(map(clean, work.written)),
    )
