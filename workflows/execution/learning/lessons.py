"""An application that learns from its runs: what they taught, in the prompts of the next similar one.

Its switch is ``auto_memory``. Before a model is asked, what memory holds on the run's task is put into
the prompt, unless the node recalls for itself. After the run has ended it is planned to be curated.
Neither ever fails a run or keeps it waiting: the end is written before anything is planned.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from django.db import DatabaseError

from workflows import memory_app
from workflows.engine.document import Json
from workflows.engine.errors import WorkflowFault
from workflows.engine.ports import MemoryPort, Message, Origin, Ports, Reminder
from workflows.execution.adapters import memory_caller
from workflows.execution.claims import Claim
from workflows.execution.debugging import Debug
from workflows.execution.threads import in_thread


log = logging.getLogger(__name__)

MOST_INJECTED = 5
LONGEST_QUESTION = 2_000  # characters; a task is asked for by its beginning


def with_learning(ports: Ports, claim: Claim) -> Ports:
    """The same world, that reminds of what earlier runs of the application taught."""
    if ports.memory is None:
        return ports
    return replace(ports, reminder=Learnt(ports.memory, claim))


async def plan_curation(ports: Ports, claim: Claim) -> None:
    """For when the end of a run is written. Runs that try something out teach nothing."""
    if ports.memory is None or Debug.of(claim.row).was_asked_for or claim.row["mocks"]:
        return
    try:
        await in_thread(_plan, claim)
    except (DatabaseError, memory_app.MemoryFault) as away:
        log.warning("curation_not_planned", extra={"run": str(claim.run_id), "why": str(away)})


class Learnt:
    """Implements ``engine.ports.ReminderPort`` for one run."""

    def __init__(self, memory: MemoryPort, claim: Claim) -> None:
        self._memory, self._claim = memory, claim
        self._learning: memory_app.Learning | None = None
        self._lock = asyncio.Lock()

    async def remind(self, messages: Sequence[Message], origin: Origin) -> Reminder | None:
        """Nothing where nothing is known; a memory that can't be asked is a line in the log."""
        try:
            learning = await self._rule()
            if not learning.auto_memory:
                return None
            question = question_of(self._claim.row, messages)
            hits = await self._memory.recall(
                scope=learning.scope,
                identity={},
                origin=origin,
                query_text=question,
                top_k=MOST_INJECTED,
                injected=True,
            )
        except (DatabaseError, WorkflowFault, memory_app.MemoryFault) as away:
            log.warning("not_reminded", extra={"run": str(self._claim.run_id), "why": str(away)})
            return None
        found = bool(hits) or getattr(hits, "withheld", None)
        return Reminder(learning.scope, question, hits) if found else None

    async def _rule(self) -> "memory_app.Learning":
        async with self._lock:
            if self._learning is None:
                app = str(self._claim.row["workflow_id"])
                self._learning = await in_thread(memory_app.learning_of, self._claim.team_id, app)
            return self._learning


def question_of(row: Mapping[str, Json], messages: Sequence[Message] = ()) -> str:
    """What a run is about: what was said, else what was given, else what the model is asked."""
    texts = [str(row["system"].get("query") or "")]
    texts += [one for one in row["inputs"].values() if isinstance(one, str)]
    asked = "\n".join(text for text in texts if text.strip())
    if not asked:
        asked = next((one.text for one in reversed(messages) if one.role == "user"), "")
    return asked[:LONGEST_QUESTION]


def _plan(claim: Claim) -> None:
    caller = memory_caller(claim.run_id, claim.team_id, claim.row)
    app = str(claim.row["workflow_id"])
    memory_app.plan_curation(caller, run_id=str(claim.run_id), app_id=app)
