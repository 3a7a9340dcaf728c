"""A sample with the language encoder, as it is in a default installation."""

from typing import Any

from memory.public import make_temporary_memory
from tests.support.engine import JinjaHere
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.llm.offline.provider import OfflineModels
from workflows.samples import SAMPLES_BY_SLUG


async def test_chatbot_finds_by_meaning_what_was_said_in_other_words(settings: Any):
    settings.MEMORY_EMBEDDER = "local"
    runner = WorkflowRunner(
        SAMPLES_BY_SLUG["chatbot"].source,
        memory=make_temporary_memory(),
        models=OfflineModels(),
        templates=JinjaHere(),
    )

    async def ask(query: str, person: str, conversation: str) -> str:
        system = {"query": query, "user_id": person, "conversation_id": conversation}
        result = await runner.start(system=system).result()
        assert result.error is None
        return str(result.outputs["answer"])

    await ask("I'm Ana, and I'm allergic to peanuts.", "ana", "c1")
    own = await ask("What should I avoid eating?", "ana", "c2")
    other = await ask("What should I avoid eating?", "ben", "c3")

    assert ("peanuts" in own, "peanuts" in other) == (True, False)
