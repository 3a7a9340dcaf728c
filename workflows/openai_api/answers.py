"""Read the answer of a run from its events, piece by piece, until it ends or waits for a person."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.utils.translation import gettext as _

from accounts.principals import Principal
from accounts.services.holders import build_holder
from accounts.tenancy import tenant
from workflows import selectors
from workflows.engine.language.document import Json
from workflows.engine.runtime.events import NodeStateChange
from workflows.engine.text_rendering import as_text
from workflows.execution.events.reader import RUN_FINISHED, TEXT_CHUNK, follow_in_batches
from workflows.execution.events.run_feed import get_run_feed
from workflows.execution.events.run_watches import RunWatch
from workflows.execution.events.stream_events import StreamEvent
from workflows.execution.threads import run_once_in_thread
from workflows.models.run import RunStatus
from workflows.openai_api.answer_text import AnswerText
from workflows.openai_api.completions import StartedRun
from workflows.openai_api.errors import CompletionError, RunFailed
from workflows.openai_api.paused import AskForLink, describe_pause
from workflows.services.runs.waiting import waits_for_a_person


PING_SECONDS: Final = 15.0  # without text, after which a keep-alive is due
_SUCCESSFUL: Final = frozenset({RunStatus.SUCCEEDED.value, RunStatus.PARTIAL.value})


@dataclass(frozen=True, slots=True)
class AnswerEnd:
    """How an answer ended. ``finish_reason`` is OpenAI's word for it."""

    status: str
    finish_reason: str = "stop"
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(slots=True)
class AnswerReader:
    """Reads one answer. ``ask_for_link`` returns the address at which a question of the run is answered."""

    principal: Principal
    started: StartedRun
    ask_for_link: AskForLink
    text: AnswerText = field(default_factory=AnswerText)
    _is_cut: bool = False

    async def read(self) -> AsyncIterator[str | AnswerEnd]:
        """Yield pieces of text, an empty one after ``PING_SECONDS`` without any, and the end. Raises CompletionError."""
        run = self.started.run
        watch = RunWatch(run.team_id, run.pk, build_holder(self.principal, None))
        batches = follow_in_batches(
            get_run_feed(),
            run.team_id,
            run.pk,
            self.started.after,
            idle_seconds=PING_SECONDS,
            watch=watch,
        )
        async for events in batches:
            if not events:
                yield ""
            for event in events:
                async for item in self._read_event(event):
                    yield item
                    if isinstance(item, AnswerEnd):
                        return
        raise CompletionError(_("The run can't be read any more."), status=403)

    async def _read_event(self, event: StreamEvent) -> AsyncIterator[str | AnswerEnd]:
        if event.name == TEXT_CHUNK:
            if self.started.streams and (piece := self._add_text(event.data)):
                yield piece
        elif event.name == NodeStateChange.name:
            if event.data.get("model") and event.data.get("status") == "completed":
                self._is_cut = bool(event.data.get("is_cut"))
        elif event.name == RUN_FINISHED:
            answer = self._read_final_answer(event.data)
            if piece := self.text.finish(answer):
                yield piece
            yield self._build_end(event.data)
        elif waits_for_a_person(event):
            text = await run_once_in_thread(self._describe_pause)
            yield f"\n\n{text}" if self.text.sent else text
            yield AnswerEnd(RunStatus.PAUSED.value)

    def _add_text(self, data: Mapping[str, Any]) -> str:  # Any: JSON
        return self.text.add(data["offset"], data["text"])

    def _read_final_answer(self, data: Mapping[str, Any]) -> str:  # Any: JSON
        """Return the final answer of an ended run. Raises RunFailed for a run without one."""
        if data["status"] == RunStatus.STOPPED:
            raise RunFailed(_("The run was stopped."), "run_stopped")
        if data["status"] not in _SUCCESSFUL:
            raise RunFailed(data.get("error") or _("The run failed."), "run_failed")
        return format_outputs(data.get("outputs") or {}, is_chat=self.started.run.workflow.is_chat)

    def _build_end(self, data: Mapping[str, Any]) -> AnswerEnd:  # Any: JSON
        return AnswerEnd(
            data["status"],
            "length" if self._is_cut else "stop",
            data.get("prompt_tokens") or 0,
            data.get("completion_tokens") or 0,
        )

    def _describe_pause(self) -> str:
        with tenant(self.principal.team_ids):
            run = selectors.find_run(self.principal, self.started.run.pk)
            return describe_pause(self.principal, run, self.ask_for_link)


def format_outputs(outputs: Mapping[str, Json], *, is_chat: bool) -> str:
    """Return the outputs of a run as a text: a chat's answer, an only output by itself, or several as JSON."""
    if is_chat:
        return as_text(outputs.get("answer"))
    if len(outputs) == 1:
        return as_text(next(iter(outputs.values())))
    return as_text(dict(outputs)) if outputs else ""
