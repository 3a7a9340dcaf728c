"""The bodies of answers: a completion as one object, or as a stream of chunks."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Final

from config.http.envelopes import ErrorSummary, build_openai_body
from workflows.openai_api.answers import AnswerEnd, AnswerReader
from workflows.openai_api.completions import StartedRun
from workflows.openai_api.errors import CompletionError


Body = dict[str, Any]  # Any: JSON
PING: Final = b": ping\n\n"
DONE: Final = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class Envelope:
    """Holds the fields with which every body about one answer begins."""

    started: StartedRun

    def build(self, kind: str) -> Body:
        run, version = self.started.run, self.started.version
        return {
            "id": f"chatcmpl-{run.pk.hex}",
            "object": kind,
            "created": int(run.created_at.timestamp()),
            "model": self.started.model_id,
            "system_fingerprint": f"v{version}" if version else None,
        }

    def build_metadata(self, status: str) -> Body:
        metadata = {"run_id": str(self.started.run.pk), "run_status": status}
        if self.started.conversation is not None:
            metadata["conversation_id"] = self.started.conversation
        return metadata


async def build_completion(reader: AnswerReader) -> Body:
    """Return the whole answer as one object, when the run has ended or waits for a person."""
    envelope = Envelope(reader.started)
    pieces: list[str] = []
    async for item in reader.read():
        if isinstance(item, AnswerEnd):
            message = {"role": "assistant", "content": "".join(pieces), "refusal": None}
            choice = {
                "index": 0,
                "message": message,
                "logprobs": None,
                "finish_reason": item.finish_reason,
            }
            return {
                **envelope.build("chat.completion"),
                "choices": [choice],
                "usage": _build_usage(item),
                "metadata": envelope.build_metadata(item.status),
            }
        pieces.append(item)
    raise AssertionError("The reader yields the end, or raises an error.")


async def stream_chunks(reader: AnswerReader, *, with_usage: bool) -> AsyncIterator[bytes]:
    """Yield the frames of a streamed answer. An error after the beginning is a frame, too, and the last one."""
    envelope = Envelope(reader.started)
    head = envelope.build("chat.completion.chunk") | ({"usage": None} if with_usage else {})
    yield _frame(head | _build_choice({"role": "assistant", "content": ""}))
    try:
        async for item in reader.read():
            if isinstance(item, AnswerEnd):
                metadata = envelope.build_metadata(item.status)
                yield _frame(head | _build_choice({}, item.finish_reason) | {"metadata": metadata})
                if with_usage:
                    yield _frame(head | {"choices": [], "usage": _build_usage(item)})
            else:
                yield _frame(head | _build_choice({"content": item})) if item else PING
    except CompletionError as error:
        yield _frame(build_error_body(error))
        return
    yield DONE


def build_error_body(error: CompletionError) -> Body:
    summary = ErrorSummary(error.status, type(error).__name__, error.message)
    return build_openai_body(summary, param=error.param, code=error.code)


def _build_choice(delta: Body, finish_reason: str | None = None) -> Body:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
    return {"choices": [choice]}


def _build_usage(end: AnswerEnd) -> Body:
    return {
        "prompt_tokens": end.prompt_tokens,
        "completion_tokens": end.completion_tokens,
        "total_tokens": end.prompt_tokens + end.completion_tokens,
    }


def _frame(value: Body) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return f"data: {text}\n\n".encode()
