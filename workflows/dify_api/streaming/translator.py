"""Translates the events of a run into those of Dify's service API, from a table: our event → what it becomes.

A translator is one reader's. It remembers what it has sent: the text so far, the number of nodes, and which had ended.
It needs a tenant for the events in ``NEEDS_ROWS``.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import NAMESPACE_OID, uuid5

from workflows.dify_api import answers
from workflows.dify_api.apps import CHAT, COMPLETION
from workflows.dify_api.calls import Call, to_seconds
from workflows.dify_api.streaming.graph import CONTAINER_FIELDS, Graph, get_node_type
from workflows.dify_api.streaming.rows import StreamRows
from workflows.dify_api.streaming.truncation import truncate
from workflows.engine.language.document import Json
from workflows.engine.runtime import events as ours
from workflows.execution.events.stream_events import StreamEvent
from workflows.execution.journal.partials import count_units, cut_before
from workflows.models import Step
from workflows.models.run import RunStatus


Event = dict[str, Json]
Handler = Callable[["Translator", Mapping[str, Any]], Iterator[Event]]  # Any: the JSON of an event

# Status of our node event → Dify's status of a step that ended.
NODE_ENDS: Final[Mapping[str, str]] = {
    "completed": "succeeded",
    "failed": "failed",
    "stopped": "stopped",
}
PART_STATUSES: Final[Mapping[str, str]] = {
    "running": "start",
    "completed": "success",
    "failed": "error",
    "paused": "start",
}
MEMORY_EVENTS: Final[Mapping[str, str]] = {
    ours.MemoryRecalled.name: "memory_recalled",
    ours.MemoryWritten.name: "memory_written",
    ours.MemoryKeptOut.name: "memory_pending_review",
}
# What apps that complete a text send: nothing of their graph.
COMPLETION_EVENTS: Final = frozenset(
    {"message", "message_end", "message_replace", "error", *MEMORY_EVENTS.values()}
)


@dataclass(slots=True)
class Translator:
    """``closes_on_pause``: whether the stream ends when the run waits for a person, as Dify's does."""

    call: Call
    graph: Graph
    rows: StreamRows
    closes_on_pause: bool = True
    is_closed: bool = False
    _text: str = ""
    _index: int = 0
    _numbers: dict[str, int] = field(default_factory=dict)  # of the executions of nodes
    _ended: dict[str, int] = field(default_factory=dict)  # node → how many had ended before it
    _has_started: bool = False

    def translate(self, events: Sequence[StreamEvent]) -> list[Event]:
        """Return Dify's events for these of ours, in Dify's order."""
        self.rows.load_steps(events)
        translated = []
        for event in events:
            handler = HANDLERS.get(event.name)
            if handler is None or self.is_closed:
                continue
            translated += list(handler(self, event.data))
        if self.call.mode == COMPLETION:
            translated = [each for each in translated if each["event"] in COMPLETION_EVENTS]
        return translated

    def build_loss_error(self) -> Event:
        """Return the error that ends the stream of a run which can't be followed any more."""
        return self._build_error("not_found", "The run can't be followed any more.", 404)

    # --- the run

    def _start_run(self, data: Mapping[str, Any]) -> Iterator[Event]:
        if self._has_started:
            return
        self._has_started = True
        yield self._build("workflow_started", self._describe_start(data.get("inputs"), "initial"))

    def _resume_run(self, data: Mapping[str, Any]) -> Iterator[Event]:
        for wait in self.rows.list_answered():
            action = next(
                (
                    str(item.get("title") or item.get("id"))
                    for item in (wait.form or {}).get("actions") or ()
                    if item.get("id") == wait.action
                ),
                wait.action,
            )
            form = {
                "node_id": wait.node_key,
                "node_title": self.graph.titles.get(wait.node_key, wait.node_key),
                "rendered_content": str((wait.form or {}).get("content") or ""),
                "action_id": wait.action,
                "action_text": action,
            }
            yield self._build("human_input_form_filled", form)
        self._has_started = True
        yield self._build(
            "workflow_started", self._describe_start(self.call.run.inputs, "resumption")
        )

    def _describe_start(self, inputs: Json, reason: str) -> Event:
        values, is_cut = truncate(inputs or {})
        return {
            "id": str(self.call.run.pk),
            "workflow_id": self.call.workflow_id,
            "inputs": values,
            "inputs_truncated": is_cut,
            "created_at": to_seconds(self.call.run.created_at),
            "reason": reason,
        }

    def _ask(self, data: Mapping[str, Any]) -> Iterator[Event]:
        wait = self.rows.find_wait(str(data.get("wait")))
        if wait is not None and (wait.form or {}).get("type") != "uncertain":
            yield self._build("human_input_required", answers.build_form_data(self.call, wait))

    def _pause(self, data: Mapping[str, Any]) -> Iterator[Event]:
        if data.get("reason") in ("time", "child"):
            return  # it goes on by itself
        call = self.rows.reload()
        run = call.run
        yield self._build(
            "workflow_paused",
            {
                "workflow_run_id": str(run.pk),
                "paused_nodes": list(data.get("nodes") or ()),
                "outputs": {},
                "reasons": [
                    {"TYPE": "human_input_required", **answers.build_form_data(call, wait)}
                    for wait in answers.list_forms(call)
                ],
                "status": "paused",
                "created_at": to_seconds(run.created_at),
                "elapsed_time": run.elapsed or 0.0,
                "total_tokens": run.total_tokens,
                "total_steps": answers.count_steps(call.principal, [run]).get(run.pk, 0),
            },
        )
        self.is_closed = self.closes_on_pause

    def _finish(self, data: Mapping[str, Any]) -> Iterator[Event]:
        call = self.rows.reload()
        run = call.run
        if call.mode != "workflow":
            yield from self._complete_text(answers.read_answer(run))
        if call.mode != "workflow" and run.status != RunStatus.FAILED:
            yield self._build_message_end(call)
        yield self._build("workflow_finished", self._describe_end(call))
        if call.mode != "workflow" and run.status == RunStatus.FAILED:
            error = answers.build_run_error(call.principal, run)
            yield self._build_error(error.code, str(error), error.status)
        self.is_closed = True

    def _build_message_end(self, call: Call) -> Event:
        return {
            **self._build_envelope("message_end"),
            "id": call.message_id,
            "metadata": answers.build_metadata(call.principal, call.run),
            "files": answers.list_files((call.run.outputs or {}).get("files")),
        }

    def _describe_end(self, call: Call) -> Event:
        run = call.run
        outputs, is_cut = truncate(run.outputs or {})
        return {
            **answers.build_run_data(call.principal, run),
            "outputs": outputs,
            "outputs_truncated": is_cut,
            "created_by": call.created_by,
            "exceptions_count": run.exceptions_count,
            "files": answers.list_files(run.outputs),
        }

    # --- text

    def _add_text(self, data: Mapping[str, Any]) -> Iterator[Event]:
        """A piece that does not continue the text replaces its end: a worker was lost, and another began again."""
        offset, text = int(data["offset"]), str(data["text"])
        length = count_units(self._text)
        if offset < length:
            beginning = self._text[: len(self._text) - len(cut_before(self._text, offset))]
            yield from self._replace_text(beginning + text)
        elif text:
            self._text += text
            yield self._build_piece(text, _build_selector(data))

    def _complete_text(self, answer: str) -> Iterator[Event]:
        """Send what the stream has missed of the answer, such as that of a run which ended before it was followed."""
        if answer.startswith(self._text):
            rest = answer[len(self._text) :]
            if rest:
                self._text = answer
                yield self._build_piece(rest, None)
        elif answer:
            yield from self._replace_text(answer)

    def _build_piece(self, text: str, selector: list[str] | None) -> Event:
        if self.call.mode == "workflow":
            return self._build("text_chunk", {"text": text, "from_variable_selector": selector})
        message = {**self._build_envelope("message"), "id": self.call.message_id, "answer": text}
        return {**message, "from_variable_selector": selector} if selector else message

    def _replace_text(self, text: str) -> Iterator[Event]:
        self._text = text
        if self.call.mode == "workflow":
            yield self._build("text_replace", {"text": text})
        else:
            envelope = self._build_envelope("message_replace")
            yield {**envelope, "answer": text, "reason": "restarted"}

    # --- nodes

    def _change_node(self, data: Mapping[str, Any]) -> Iterator[Event]:
        if data["kind"] in CONTAINER_FIELDS:
            # Containers have events of their own instead. Their own failure is in them, too.
            if data["status"] in NODE_ENDS:
                self._note_end(data["node"])
            return
        if data["status"] == "running":
            yield self._build("node_started", self._describe_node(data))
        elif data["status"] == "retrying":
            retry = {**self._describe_result(data), "retry_index": int(data["attempt"]) - 1}
            yield self._build("node_retry", {**retry, "status": "retry"})
        elif data["status"] in NODE_ENDS:
            step = self.rows.find_step(data["node"], data["rounds"])
            if step is not None and step.outputs.get("reasoning_content"):
                yield self._build_reasoning(data["node"], str(step.outputs["reasoning_content"]))
            result = self._describe_result(data, step)
            self._note_end(data["node"])
            yield self._build("node_finished", result)

    def _describe_node(self, data: Mapping[str, Any]) -> Event:
        node = data["node"]
        return {
            "id": self._make_execution_id(node, data["rounds"]),
            "node_id": node,
            "node_type": get_node_type(data["kind"]),
            "title": data["title"] or self.graph.titles.get(node, ""),
            "index": self._count_execution(node, data["rounds"]),
            "predecessor_node_id": self.graph.find_predecessor(node, self._ended),
            "inputs": None,
            "inputs_truncated": False,
            "created_at": int(data["at"]),
            "extras": {},
            **self.graph.find_containers(node),
            "agent_strategy": None,
        }

    def _describe_result(self, data: Mapping[str, Any], step: Step | None = None) -> Event:
        elapsed = float(data["elapsed"] or 0.0) + float(data["waited"] or 0.0)
        inputs, inputs_cut = truncate(step.shown_inputs if step else {})
        outputs, outputs_cut = truncate(step.outputs if step else {})
        is_handled = step is not None and step.status == "exception"
        return {
            **self._describe_node(data),
            "inputs": inputs,
            "inputs_truncated": inputs_cut,
            "process_data": None,
            "process_data_truncated": False,
            "outputs": outputs,
            "outputs_truncated": outputs_cut,
            "status": "exception" if is_handled else NODE_ENDS.get(data["status"], "failed"),
            "error": data["error"],
            "elapsed_time": elapsed,
            "execution_metadata": _describe_tokens(data["tokens"]),
            "created_at": int(float(data["at"]) - elapsed),
            "finished_at": int(data["at"]),
            "files": answers.list_files(step.outputs) if step else [],
        }

    def _build_reasoning(self, node: str, reasoning: str) -> Event:
        data: Event = {"reasoning": reasoning, "node_id": node, "is_final": True}
        if self.call.is_chat:
            data["message_id"] = self.call.message_id
        return self._build("reasoning_chunk", data)

    def _log_part(self, data: Mapping[str, Any]) -> Iterator[Event]:
        rounds = data["rounds"]
        yield self._build(
            "agent_log",
            {
                "node_execution_id": self._make_execution_id(data["node"], rounds),
                "id": self._make_execution_id(f"{data['node']}.{data['part']}", rounds),
                "label": data["title"] or data["kind"],
                "parent_id": None,
                "error": data["error"],
                "status": PART_STATUSES.get(data["status"], "start"),
                "data": {},
                "metadata": {
                    "started_at": data["at"],
                    "elapsed_time": data["elapsed"] or 0.0,
                    "total_tokens": data["tokens"] or 0,
                },
                "node_id": data["node"],
            },
        )

    # --- containers

    def _start_container(self, name: str, data: Mapping[str, Any]) -> Event:
        metadata = {} if data["total"] is None else {f"{name}_length": data["total"]}
        inputs = {"inputs": {}, "inputs_truncated": False, "metadata": metadata}
        return self._build(f"{name}_started", {**self._describe_container(name, data), **inputs})

    def _next_round(self, name: str, data: Mapping[str, Any]) -> Event:
        values: Event = {**self._describe_container(name, data), "index": data["index"]}
        if name == "loop":
            values["pre_loop_output"] = {}
        return self._build(f"{name}_next", values)

    def _end_container(self, name: str, data: Mapping[str, Any]) -> Event:
        step = self.rows.find_step(data["node"], data["rounds"])
        outputs, is_cut = truncate(step.outputs if step else {})
        inputs, _inputs_cut = truncate(step.shown_inputs if step else {})
        tokens = step.prompt_tokens + step.completion_tokens if step else 0
        return self._build(
            f"{name}_completed",
            {
                **self._describe_container(name, data),
                "created_at": int(float(data["at"]) - float(data["elapsed"])),
                "outputs": outputs,
                "outputs_truncated": is_cut,
                "inputs": inputs,
                "inputs_truncated": False,
                "status": "failed" if data["error"] else "succeeded",
                "error": data["error"],
                "elapsed_time": data["elapsed"],
                "total_tokens": tokens,
                "execution_metadata": _describe_tokens(tokens) or {"total_tokens": 0},
                "finished_at": int(data["at"]),
                "steps": data["count"],
            },
        )

    def _describe_container(self, name: str, data: Mapping[str, Any]) -> Event:
        node = data["node"]
        return {
            "id": self._make_execution_id(node, data["rounds"]),
            "node_id": node,
            "node_type": name,
            "title": data["title"] or self.graph.titles.get(node, ""),
            "created_at": int(data["at"]),
            "extras": {},
        }

    # --- memory

    def _report_memory(self, name: str, data: Mapping[str, Any]) -> Iterator[Event]:
        if not self.call.with_memory_events:
            return
        if name == ours.MemoryRecalled.name:
            values: Event = {"recalled": list(answers.describe_recalled(data))}
        else:
            entry = answers.describe_written(name, data)
            if entry is None:
                return
            values = {"written": [entry]}
        origin = {"node_id": data["node"], "scope": data["scope"]}
        yield self._build(MEMORY_EVENTS[name], {**origin, **values})

    # --- envelopes

    def _build(self, name: str, data: Event) -> Event:
        return {
            **self._build_envelope(name),
            "workflow_run_id": str(self.call.run.pk),
            "data": data,
        }

    def _build_envelope(self, name: str) -> Event:
        envelope: Event = {"event": name, "task_id": self.call.task_id}
        if self.call.mode == CHAT:
            envelope["conversation_id"] = self.call.conversation_id
        if self.call.mode != "workflow":
            envelope["message_id"] = self.call.message_id
            envelope["created_at"] = self.call.created_at
        return envelope

    def _build_error(self, code: str, message: str, status: int) -> Event:
        """Return an error, which alone has no ``task_id``."""
        envelope = self._build_envelope("error")
        del envelope["task_id"]
        return {**envelope, "status": status, "code": code, "message": message}

    # --- what was sent

    def _count_execution(self, node: str, rounds: Sequence[int]) -> int:
        """Return the number of this execution among all, counted when it began."""
        key = f"{node}:{','.join(map(str, rounds))}"
        if key not in self._numbers:
            self._index += 1
            self._numbers[key] = self._index
        return self._numbers[key]

    def _note_end(self, node: str) -> None:
        self._ended[node] = len(self._ended)

    def _make_execution_id(self, node: str, rounds: Sequence[int]) -> str:
        """Return the id of an execution, the same for every reader and in every attempt."""
        name = f"{self.call.run.pk}:{node}:{','.join(map(str, rounds))}"
        return str(uuid5(NAMESPACE_OID, name))


def _build_selector(data: Mapping[str, Any]) -> list[str]:
    return [data["source"], "text"] if data["source"] else [data["node"], "answer"]


def _describe_tokens(tokens: int | None) -> Event | None:
    if not tokens:
        return None
    return {"total_tokens": tokens, "total_price": "0", "currency": answers.CURRENCY}


def _handle_container(
    build: Callable[[Translator, str, Mapping[str, Any]], Event], name: str
) -> Handler:
    def handle(translator: Translator, data: Mapping[str, Any]) -> Iterator[Event]:
        yield build(translator, name, data)

    return handle


def _handle_memory(name: str) -> Handler:
    return lambda translator, data: translator._report_memory(name, data)


# Our event → its translation. An event without a row has none.
HANDLERS: Final[Mapping[str, Handler]] = {
    ours.RunStarted.name: Translator._start_run,
    ours.RunResumed.name: Translator._resume_run,
    ours.InputRequired.name: Translator._ask,
    ours.RunPaused.name: Translator._pause,
    ours.RunFinished.name: Translator._finish,
    ours.TextChunk.name: Translator._add_text,
    ours.NodeStateChange.name: Translator._change_node,
    ours.StepPartChange.name: Translator._log_part,
    ours.IterationStarted.name: _handle_container(Translator._start_container, "iteration"),
    ours.IterationNext.name: _handle_container(Translator._next_round, "iteration"),
    ours.IterationCompleted.name: _handle_container(Translator._end_container, "iteration"),
    ours.LoopStarted.name: _handle_container(Translator._start_container, "loop"),
    ours.LoopNext.name: _handle_container(Translator._next_round, "loop"),
    ours.LoopCompleted.name: _handle_container(Translator._end_container, "loop"),
    **{name: _handle_memory(name) for name in MEMORY_EVENTS},
}
