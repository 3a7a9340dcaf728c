"""The input of curation: one finished piece of work."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from memory.core.records import Source
from memory.logic.entries.secrets import redact


class WorkStatus(StrEnum):
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class FinishedWork:
    """A finished run, task, or conversation.

    ``recalled_texts`` are the texts of recalled entries that were part of prompts; responses repeat them, and they
    must not be learned again. ``stored_texts`` are the texts that the work stored, which are known, too.
    ``is_untrusted`` means that the text may come from a tool or the web.
    """

    task: str
    status: WorkStatus = WorkStatus.SUCCEEDED
    outputs: Sequence[str] = ()
    errors: Sequence[str] = ()
    recalled_texts: Sequence[str] = ()
    stored_texts: Sequence[str] = ()
    language: str = "en"
    exit_code: int | None = None
    is_untrusted: bool = False
    source: Source = field(default_factory=Source)

    @property
    def has_succeeded(self) -> bool:
        return self.status is WorkStatus.SUCCEEDED


def redact_work(work: FinishedWork, known_secrets: Sequence[str] = ()) -> FinishedWork:
    """Remove secrets from the work, so that neither a model nor a curator sees any."""

    def clean(text: str) -> str:
        return str(redact(text, known_secrets).value)

    return replace(
        work,
        task=clean(work.task),
        outputs=tuple(map(clean, work.outputs)),
        errors=tuple(map(clean, work.errors)),
        recalled_texts=tuple(map(clean, work.recalled_texts)),
        stored_texts=tuple(map(clean, work.stored_texts)),
    )
