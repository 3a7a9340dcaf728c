"""Remember with facts: when they hold, and what the turns before a message say about it."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from memory.embedding import encoder
from memory.logic.judgement.judge import Judge
from memory.logic.judgement.probes import load_probes
from memory.logic.provider_port import ProviderPort
from memory.providers.in_memory import InMemoryProvider
from tests.engine.nodes.memory.test_facts import (
    MIA,
    ScriptedModel,
    operations,
    remember,
    replace,
    run,
    values,
)
from workflows.engine.earlier_turns import EarlierTurn
from workflows.engine.runtime.runner import WorkflowRunner


async def test_dates_of_a_model_say_when_its_fact_begins_and_the_known_one_ends() -> None:
    memory = InMemoryProvider()
    await run(memory, None, "I live in Berlin.")
    successor = replace("I live in Lyon.", "I live in Lyon", valid_from="2099-01-01")

    await run(memory, ScriptedModel(operations(successor)), "From January 2099 I live in Lyon.")

    former, current = memory.living("user:mia").values()
    beginning = datetime(2099, 1, 1, tzinfo=UTC)
    assert (former.valid_until, former.replaced_by) == (beginning, current.id)
    assert (current.valid_from, current.valid_until) == (beginning, None)


async def test_words_of_a_fact_say_when_it_held_and_what_is_over_replaces_nothing() -> None:
    memory = InMemoryProvider()
    await run(memory, None, "I live in Berlin.")
    text = "I lived in Rome from 2001 to 2005."
    successor = replace(text, "I lived in Rome")

    await run(memory, ScriptedModel(operations(successor)), text)

    berlin, rome = memory.living("user:mia").values()
    assert (berlin.valid_until, rome.replaces) == (None, "")
    assert rome.valid_from == datetime(2001, 1, 1, tzinfo=UTC)
    assert rome.valid_until == datetime(2005, 12, 31, 23, 59, 59, tzinfo=UTC)


class Past:
    """The conversation before the message."""

    def __init__(self, *turns: EarlierTurn) -> None:
        self.turns = turns

    async def list_turns(self, *, limit: int | None) -> Sequence[EarlierTurn]:
        return self.turns[-limit:] if limit else self.turns


@pytest.mark.parametrize(
    ("turn", "text", "facts"),
    [
        (EarlierTurn("Hi.", "Hello! Where do you live?"), "Lyon", ["My home: Lyon"]),
        (EarlierTurn("My mother is a nurse.", "I see."), "She lives in Graz.", ["My mother lives in Graz."]),
        (EarlierTurn("Hi.", "Hello! Where do you live?", is_untrusted=True), "Lyon", []),
    ],
)  # fmt: skip
async def test_without_a_model_memory_reads_the_message_after_the_turns_before_it(
    turn: EarlierTurn, text: str, facts: list[str]
) -> None:
    memory = InMemoryProvider()
    port = ProviderPort(memory, Judge(encoder.encode, load_probes()))
    runner = WorkflowRunner(remember(), memory=port, history=Past(turn))

    await runner.start(inputs={"text": text}, system=MIA).result()

    assert values(memory) == facts
