"""Put lessons of an application's earlier runs into the prompts of similar runs.

The setting is ``auto_memory``. Before a model call, memories about the run's task are added to a chat prompt, unless
the node's own recall found some. If memory is unavailable, the model is called without lessons. The curation of a run
is planned after its end is stored, so an error there can't change the result.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from django.db import DatabaseError

from workflows import memory_app
from workflows.engine.errors import EngineFault
from workflows.engine.language.document import Json
from workflows.engine.ports import MemoryPort, Message, Origin, Ports, Reminder
from workflows.execution.claims import Claim
from workflows.execution.debugging.run_options import Debug
from workflows.execution.ports.adapters import build_memory_caller
from workflows.execution.threads import run_in_thread


log = logging.getLogger(__name__)

MAX_INJECTED = 5
MAX_QUESTION_CHARACTERS = 2_000  # characters; only the beginning of a task is searched for


def add_reminder(ports: Ports, claim: Claim) -> Ports:
    """Return the ports with a reminder of lessons from earlier runs."""
    if ports.memory is None:
        return ports
    return replace(ports, reminder=LessonReminder(ports.memory, claim))


async def plan_curation(ports: Ports, claim: Claim) -> None:
    """Plan the curation after the end of a run was written. Debug runs and runs with mocks are not curated."""
    if ports.memory is None or Debug.from_row(claim.row).is_debugging or claim.row["mocks"]:
        return
    try:
        await run_in_thread(_plan, claim)
    except (DatabaseError, memory_app.MemoryFault) as error:
        log.warning("curation_not_planned", extra={"run": str(claim.run_id), "why": str(error)})


class LessonReminder:
    """Implements ``engine.ports.ReminderPort`` for one run."""

    def __init__(self, memory: MemoryPort, claim: Claim) -> None:
        self._memory, self._claim = memory, claim
        self._learning: memory_app.LearningRule | None = None
        self._lock = asyncio.Lock()

    async def remind(self, messages: Sequence[Message], origin: Origin) -> Reminder | None:
        """Return the lessons for a prompt, or None if there are none. An error of the memory is only logged."""
        try:
            learning = await self._load_rule()
            if not learning.auto_memory:
                return None
            question = extract_question(self._claim.row, messages)
            hits = await self._memory.recall(
                scope=learning.scope,
                identity={},
                origin=origin,
                query_text=question,
                top_k=MAX_INJECTED,
                injected=True,
            )
        except (DatabaseError, EngineFault, memory_app.MemoryFault) as error:
            log.warning("not_reminded", extra={"run": str(self._claim.run_id), "why": str(error)})
            return None
        has_news = bool(hits) or getattr(hits, "withheld", None)
        return Reminder(learning.scope, question, hits) if has_news else None

    async def _load_rule(self) -> "memory_app.LearningRule":
        async with self._lock:
            if self._learning is None:
                app = str(self._claim.row["workflow_id"])
                self._learning = await run_in_thread(
                    memory_app.get_learning_rule, self._claim.team_id, app
                )
            return self._learning


def extract_question(row: Mapping[str, Json], messages: Sequence[Message] = ()) -> str:
    """Return the text to search memory for: the user's message and the text inputs, or the last user message of the
    prompt if both are empty.
    """
    texts = [str(row["system"].get("query") or "")]
    texts += [value for value in row["inputs"].values() if isinstance(value, str)]
    question = "\n".join(text for text in texts if text.strip())
    if not question:
        question = next((value.text for value in reversed(messages) if value.role == "user"), "")
    return question[:MAX_QUESTION_CHARACTERS]


def _plan(claim: Claim) -> None:
    caller = build_memory_caller(claim.run_id, claim.team_id, claim.row)
    app = str(claim.row["workflow_id"])
    memory_app.plan_curation(caller, run_id=str(claim.run_id), app_id=app)
