"""Burr with the same chain and the same five-node runs, built as in its documentation."""

import asyncio
import json

from burr.core import ApplicationBuilder, State, action, default

from bench._common import repeat


def make_step(*, waits: bool) -> object:
    if waits:

        @action(reads=["text"], writes=["text"])
        async def later(state: State) -> State:
            return state.update(text="node: " + state["text"][:20])

        return later

    @action(reads=["text"], writes=["text"])
    def now(state: State) -> State:
        return state.update(text="node: " + state["text"][:20])

    return now


def make_steps(length: int, *, waits: bool) -> dict[str, object]:
    return {f"n{i}": make_step(waits=waits) for i in range(length)}


def create_builder(actions: dict[str, object]) -> ApplicationBuilder:
    length = len(actions)
    transitions = [(f"n{i}", f"n{i + 1}", default) for i in range(length - 1)]
    builder = ApplicationBuilder().with_actions(**actions).with_transitions(*transitions)
    return builder.with_state(text="x").with_entrypoint("n0")


def measure_chain(length: int) -> dict[str, float]:
    # Built outside the measurement, because our engine also compiles a document once.
    actions = make_steps(length, waits=False)
    ready = [create_builder(actions).build() for _ in range(8)]
    return repeat(lambda: ready.pop().run(halt_after=[f"n{length - 1}"]), 7).summarize()


async def run_many(count: int) -> None:
    # An application holds one run's state, so each run builds its own; the steps are shared.
    actions = make_steps(5, waits=True)

    async def run() -> None:
        application = await create_builder(actions).abuild()
        await application.arun(halt_after=["n4"])

    await asyncio.gather(*(run() for _ in range(count)))


small = repeat(lambda: asyncio.run(run_many(200)), 5).summarize()
print(json.dumps({"chain": measure_chain(1000), "small": small}))
