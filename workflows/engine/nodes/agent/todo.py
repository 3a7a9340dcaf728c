"""The todo loop: the model answers a simple task at once, and works through a list of todos for any other.

Each todo has a plan and steps. A step is one answer of the model: its completion, actions, next step and note. Calls are
recorded as ``plan``, ``todo.1.1.model``, ``todo.1.1.action.1``, ``todo.1.1.note`` and so on.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from workflows.engine.kinds import NodeContext
from workflows.engine.memory_ports import RunMetadataPort
from workflows.engine.nodes.agent.agent_config import (
    DEFAULT_ROUNDS,
    DEFAULT_ROUNDS_PER_TODO,
    MAX_ROUNDS,
)
from workflows.engine.nodes.agent.model_answer import ModelAnswer
from workflows.engine.nodes.agent.session import AgentAnswer, AgentSession
from workflows.engine.nodes.agent.todo_actions import Action, build_arguments, parse_actions
from workflows.engine.nodes.agent.todo_memory import TodoMemory
from workflows.engine.nodes.agent.todo_notes import TodoNotes
from workflows.engine.nodes.agent.todo_prompts import (
    Texts,
    choose_texts,
    render_decision,
    render_memory,
    render_notes,
    render_step,
)
from workflows.engine.nodes.agent.todo_shortfall import Todo, build_shortfall, describe_undone
from workflows.engine.nodes.agent.todo_text import (
    MAX_TODOS,
    StepReport,
    parse_report,
    parse_todos,
)
from workflows.engine.nodes.memory.memory_access import has_secret
from workflows.engine.nodes.memory.quoting import quote_block
from workflows.engine.ports import Message, Origin
from workflows.engine.runtime.step_parts import PartResult
from workflows.engine.runtime.waits import BY_LINK, Wait
from workflows.engine.text_rendering import remove_unstorable
from workflows.engine.texts import gettext_noop
from workflows.engine.tool_calls import ToolCall


QUESTION_KIND: Final = "agent-question"
STATE_KIND: Final = "agent-todos"
MAX_STEPS: Final = 8  # of one todo
MAX_RESULTS: Final = 12  # of earlier steps in a prompt
_MAX_RESULT: Final = 4000  # characters
_MAX_ERROR: Final = 300


class TodoLoop:
    """Implements ``strategies.Strategy`` for tasks of several steps."""

    name = "todo"
    title = gettext_noop("To-do list")

    async def run(self, session: AgentSession) -> AgentAnswer:
        return await _Loop(session).run()


class _Loop:
    """One run of the loop."""

    def __init__(self, session: AgentSession) -> None:
        self.session, self.ctx = session, session.ctx
        goal = next((m.text for m in reversed(session.messages) if m.role == "user"), "")
        self.goal = remove_unstorable(goal)
        self.texts: Texts = choose_texts(self.goal)
        self.notes = TodoNotes(session.ctx)
        self.workflow_memory = TodoMemory(session)
        self.todos: list[Todo] = []
        self.results: list[str] = []
        self.memory = render_memory(self.texts, session.ctx.run_id, session.ctx.identity)
        self.number = 0  # of model calls

    async def run(self) -> AgentAnswer:
        answer = await self._decide()
        if isinstance(answer, AgentAnswer):
            return answer
        self.todos = [Todo(number, text) for number, text in enumerate(answer, start=1)]
        self._raise_default_rounds()
        await self._save("plan")
        limit: str | None = None
        for todo in self.todos:  # a finished todo may add another one
            limit = await self._work(todo)
            if limit is not None:
                await self._skip_unfinished()
                break
        final = await self._summarize(limit)
        values = [note.value for note in await self.notes.read()]
        return replace(
            final,
            todos=[todo.describe() for todo in self.todos],
            notes=[dict(v) for v in values],
            undone_text=describe_undone(self.todos, self.texts),
            shortfall=build_shortfall(self.todos),
        )

    async def _decide(self) -> AgentAnswer | tuple[str, ...]:
        """Return the todos, or the answer to a simple task, which may take several rounds of calls."""
        session = self.session
        instructions = render_decision(self.texts, session.tools, self.memory)
        messages = _add_to_system(session.messages, instructions)
        while (limit := session.find_limit(self.number)) is None:
            part = "plan" if self.number == 0 else f"simple.{self.number}.model"
            self.number += 1
            stream = session.open_stream()
            answer = await session.call_model(part, messages, session.tools, stream=stream)
            if answer.is_cut_off:
                continue
            session.begin_round(answer)
            todos = () if answer.tool_calls else parse_todos(answer.text, self.goal)
            stream.end(is_answer=not answer.tool_calls and not todos)
            if todos:
                return todos
            if not answer.tool_calls:
                return AgentAnswer(answer.text, answer.finish_reason or "stop", answer.reasoning)
            messages += [answer.message, *await session.call_tools(self.number, answer.tool_calls)]
        return await session.give_last_answer(self.number + 1, messages, limit)

    async def _work(self, todo: Todo) -> str | None:
        """Work on a todo until it is completed or has failed. Return the limit that ended the agent, if any."""
        todo.status = "running"
        await self._save(f"todo.{todo.number}.begin")
        todo.memories = await self.workflow_memory.recall(
            f"todo.{todo.number}.memory", todo.content
        )
        while todo.status == "running":
            limit = self.session.find_limit(self.number)
            if limit is not None:
                return limit
            await self._take_step(todo)
        if todo.status == "completed" and todo.step and todo is self.todos[-1]:
            self._add_todo(todo.step)
        await self._save(f"todo.{todo.number}.end")
        return None

    async def _take_step(self, todo: Todo) -> None:
        part = f"todo.{todo.number}.{len(todo.steps) + 1}"
        answer = await self._ask_model(part, todo)
        report = parse_report(answer.text)
        self.session.begin_round(answer)
        if report is None:
            again = self.texts.unreadable
            self._record(todo, StepReport(next_step=again), [], [again])
            return
        results, errors = await self._act(part, todo, report)
        self._record(todo, report, results, errors)
        if report.note:
            await self._add_note(f"{part}.note", report.note, todo)
        for position, error in enumerate(errors, start=1):
            await self._add_note(f"{part}.failure.{position}", error, todo)

    async def _ask_model(self, part: str, todo: Todo) -> ModelAnswer:
        session = self.session
        notes = await self.notes.read()
        if any(note.is_untrusted for note in notes):
            session.mark_untrusted(("notes",))
        prompt = render_step(
            self.texts,
            goal=self.goal,
            todo=todo.content,
            step=todo.step,
            notes=notes,
            results=self.results[-MAX_RESULTS:],
            specs=session.tools,
            memory=self.memory,
            memories=todo.memories,
        )
        system = [message for message in session.messages if message.role == "system"]
        self.number += 1
        return await session.call_model(
            f"{part}.model",
            [*system, Message("user", prompt)],
            ignores_calls=True,
            memories=todo.memories,
        )

    async def _act(self, part: str, todo: Todo, report: StepReport) -> tuple[list[str], list[str]]:
        """Take the actions of a step. Return their results, and the errors of those that failed."""
        results: list[str] = []
        errors: list[str] = []
        actions = parse_actions(report.action) if report.action else ()
        for position, action in enumerate(actions, start=1):
            name = f"{part}.action.{position}"
            if action.is_question and action.question:
                text = await self._ask_person(name, action.question)
                results.append(self.texts.reply.format(text=text))
                continue
            error, text = await self._call(name, action)
            if error:
                reason = error[:_MAX_ERROR]
                errors.append(self.texts.failed.format(name=action.name, error=reason))
            else:
                results.append(f"{action.name}: {text[:_MAX_RESULT]}")
        self.results += [*results, *errors]
        return results, errors

    async def _call(self, part: str, action: Action) -> tuple[str, str]:
        """Call the function of an action. Return its error or its result."""
        if action.error:
            return action.error, ""
        toolbox = self.session.toolbox
        name = toolbox.find_name(action.name) or action.name
        tool = toolbox.tools.get(name)
        arguments = build_arguments(action, tool.spec) if tool is not None else "{}"
        result = await self.session.call_tool(part, ToolCall(part, name, arguments))
        return (result.text, "") if result.is_error else ("", result.text)

    async def _ask_person(self, part: str, question: str) -> str:
        """Return the person's answer. Until there is one, this pauses the run."""
        answer = self.ctx.wait_for(Wait(_build_question(question)), part)
        text = str(answer.values.get("answer") or "")

        async def call(origin: Origin) -> PartResult:
            return PartResult({"question": question, "answer": text, "by": answer.answered_by})

        recorded = await self.session.parts.run(
            part, QUESTION_KIND, call, title=self.texts.ask, inputs={"question": question}
        )
        reply = str(recorded["answer"])
        is_anybody = recorded["by"] == BY_LINK
        if is_anybody:
            self.session.mark_untrusted(("answer",))
        await self.workflow_memory.store_reply(
            f"{part}.memory",
            self.texts.remembered_reply.format(question=question, text=reply),
            question=question,
            # The question is the model's, which may repeat what it has read.
            is_untrusted=self.session.has_read_untrusted,
        )
        return f"\n{quote_block(reply)}" if is_anybody else reply

    def _record(
        self, todo: Todo, report: StepReport, results: Sequence[str], errors: Sequence[str]
    ) -> None:
        """List a step, and decide what becomes of its todo."""
        todo.completion = report.completion if report.completion is not None else todo.completion
        todo.step = report.next_step
        todo.steps.append(
            {
                "step": len(todo.steps) + 1,
                "completion": report.completion,
                "action": report.action,
                "next_step": report.next_step,
                "note": report.note,
                "results": list(results),
                "errors": list(errors),
            }
        )
        config = self.session.config
        if errors:
            todo.failures += 1
            if todo.failures > config.max_action_retries:
                todo.status = "failed"
        elif todo.completion >= config.completion_threshold:
            todo.status = "completed"
        if todo.status == "running" and len(todo.steps) >= MAX_STEPS:
            todo.status = "failed"

    def _add_todo(self, content: str) -> None:
        if len(self.todos) < MAX_TODOS:
            self.todos.append(Todo(len(self.todos) + 1, content))
            self._raise_default_rounds()

    def _raise_default_rounds(self) -> None:
        """Raise the limit of rounds with the number of todos, unless the author has set one."""
        if self.session.config.max_rounds is None:
            rounds = DEFAULT_ROUNDS + DEFAULT_ROUNDS_PER_TODO * len(self.todos)
            self.session.max_rounds = min(rounds, MAX_ROUNDS)

    async def _skip_unfinished(self) -> None:
        """Mark the todos that a limit ended, so that nobody takes them for those of a run that goes on."""
        for todo in self.todos:
            if todo.status in ("pending", "running"):
                todo.status, todo.reason = "skipped", "limit"
        await self._save("limit")

    async def _add_note(self, part: str, content: str, todo: Todo) -> None:
        is_untrusted = self.session.has_read_untrusted
        await self.notes.add(part, content, todo.id, is_untrusted=is_untrusted)

    async def _save(self, part: str) -> None:
        """Record the state of the todos, for the page of the run and for its metadata."""
        ctx: NodeContext = self.ctx
        todos = [todo.describe() for todo in self.todos]

        async def call(origin: Origin) -> PartResult:
            memory: object = ctx.ports.memory  # only some memories keep the metadata of runs
            is_kept_out = await has_secret(ctx, [self.goal, todos])
            if isinstance(memory, RunMetadataPort) and not is_kept_out:
                fields = ("id", "content", "status", "reason")
                await memory.save_todos(
                    identity=ctx.identity,
                    origin=origin,
                    goal=self.goal,
                    todos=[{name: todo[name] for name in fields if name in todo} for todo in todos],
                )
            return PartResult({"goal": self.goal, "todos": todos})

        await self.session.parts.run(f"{part}.todos", STATE_KIND, call, inputs={})

    async def _summarize(self, limit: str | None) -> AgentAnswer:
        """Ask the model for the answer to the person, with the results and notes."""
        session = self.session
        states = [f"{each.number}. {each.content}: {each.status}" for each in self.todos]
        lines = self.results[-MAX_RESULTS:]
        if self.notes.written:
            lines.append(render_notes(self.texts, self.notes.written))
        messages = [*session.messages, Message("user", "\n".join([*states, *lines]))]
        if limit is not None:
            # The end of the answer names those that were not done.
            completed = [
                states[i] for i, each in enumerate(self.todos) if each.status == "completed"
            ]
            summary = "\n".join([*completed, *lines])
            return await session.give_last_answer(
                self.number + 1, messages, limit, last_text=summary
            )
        stream = session.open_stream(holds=False)
        request = Message("system", self.texts.summary)
        answer = await session.call_model(
            "answer.model", [*messages, request], stream=stream, ignores_calls=True
        )
        session.begin_round(answer)
        return AgentAnswer(answer.text, answer.finish_reason or "stop", answer.reasoning)


def _build_question(question: str) -> dict[str, Any]:
    return {
        "type": "question",
        "content": question,
        "inputs": [{"name": "answer", "type": "paragraph", "label": "", "required": True}],
        "actions": [],
    }


def _add_to_system(messages: Sequence[Message], text: str) -> list[Message]:
    if messages and messages[0].role == "system":
        return [replace(messages[0], text=f"{messages[0].text}\n\n{text}"), *messages[1:]]
    return [Message("system", text), *messages]
