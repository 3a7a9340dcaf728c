"""A variable that one branch sets to text from outside while a step of another branch waits to read it."""

import asyncio
from collections.abc import Sequence

from memory.core.records import Tier
from memory.providers.in_memory import InMemoryProvider
from tests.engine.language.content_marks.test_reused_steps import Report
from tests.engine.language.test_untrusted import SYSTEM
from tests.support.documents import assign, document, node, start
from tests.support.engine import ports
from workflows.engine.language.plan import compile_plan
from workflows.engine.nodes import build_kinds
from workflows.engine.runtime.events import Event
from workflows.engine.runtime.local_ports import ListJournal
from workflows.engine.runtime.loop import execute_plan
from workflows.engine.runtime.run_request import RunStart
from workflows.engine.runtime.step_records import RunStatus, StepKey, StepRecord


class SlowJournal(ListJournal):
    """Writes that the step of ``keep`` begins only after ``set`` has ended, as a database under load may."""

    def __init__(self) -> None:
        super().__init__()
        self.is_set = asyncio.Event()

    async def intend(self, key: StepKey) -> None:
        await self.is_set.wait()

    async def record(self, record: StepRecord, events: Sequence[Event]) -> None:
        await super().record(record, events)
        if record.key.node_id == "set":
            self.is_set.set()


async def test_step_that_has_begun_is_told_what_another_branch_reads_outside() -> None:
    keep = node(
        "keep", "memory-store", scope="user", key="k", value_selector=["conversation", "note"]
    )
    made = document(
        [start("q"), keep, node("report", "report"), assign("set", "note", "over-write", ["report", "text"], "variable")],
        ["start -> keep", "start -> report", "report -> set"],
        conversation={"note": ("string", "mine")},
    )  # fmt: skip
    memory = InMemoryProvider()
    plan = compile_plan(made, build_kinds(plugins=[Report()]))

    result = await execute_plan(
        plan, RunStart("r", system=SYSTEM), ports(memory=memory.port()), SlowJournal()
    )

    assert result.status is RunStatus.SUCCEEDED, result.error
    [entry] = memory.living("user:mia").values()
    assert (entry.tier, entry.metadata.get("origin")) == (Tier.QUARANTINE, "web")
