"""Remind a run of what earlier runs learned: add memories about its task to its chat prompts.

The setting ``auto_memory`` turns this on. A prompt gets no reminder if its node recalled memories itself, or if memory
is unavailable.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from django.db import DatabaseError

from workflows import memory_app
from workflows.engine.errors import EngineFault
from workflows.engine.language.document import Json
from workflows.engine.ports import MemoryPort, Message, Origin, Ports, Reminder
from workflows.execution.claims import Claim
from workflows.execution.threads import LoadedOnce


log = logging.getLogger(__name__)

MAX_INJECTED = 5
MAX_QUESTION_CHARACTERS = 2_000  # only the beginning of a task is searched for


def add_reminder(ports: Ports, claim: Claim) -> Ports:
    """Return the ports with a port for reminders, if the run has memory."""
    if ports.memory is None:
        return ports
    return replace(ports, reminder=RunReminder(ports.memory, claim))


class RunReminder:
    """Implements ``engine.ports.ReminderPort`` for one run."""

    def __init__(self, memory: MemoryPort, claim: Claim) -> None:
        self._memory, self._claim = memory, claim
        app_id = str(claim.row["workflow_id"])
        self._rule = LoadedOnce(partial(memory_app.get_learning_rule, claim.team_id, app_id))

    def expect(self) -> None:
        """Begin to read the application's rule, because a prompt is built soon."""
        self._rule.expect()

    async def remind(
        self, messages: Sequence[Message], origin: Origin, *, without_lessons: bool = False
    ) -> Reminder | None:
        """Return the memories for a prompt, or None without any. An error of the memory is only logged."""
        try:
            rule = await self._rule.get()
            if not rule.auto_memory:
                return None
            question = extract_question(self._claim.row, messages)
            hits = await self._memory.recall(
                scope=rule.scope,
                identity={},
                origin=origin,
                query_text=question,
                top_k=MAX_INJECTED,
                injected=True,
                without_lessons=without_lessons,
            )
        except (DatabaseError, EngineFault, memory_app.MemoryFault) as error:
            log.warning("not_reminded", extra={"run": str(self._claim.run_id), "why": str(error)})
            return None
        is_worth_showing = bool(hits) or getattr(hits, "withheld", None)
        return Reminder(rule.scope, question, hits) if is_worth_showing else None


def extract_question(row: Mapping[str, Json], messages: Sequence[Message] = ()) -> str:
    """Return the text to search memory for: the run's message and text inputs, or the prompt's last user message."""
    texts = [str(row["system"].get("query") or "")]
    texts += [value for value in row["inputs"].values() if isinstance(value, str)]
    question = "\n".join(text for text in texts if text.strip())
    if not question:
        user_texts = (message.text for message in reversed(messages) if message.role == "user")
        question = next(user_texts, "")
    return question[:MAX_QUESTION_CHARACTERS]
