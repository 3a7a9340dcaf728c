"""Measures Burr with the chain and the five-node runs of `bench.engine`, built as in Burr's documentation."""

import asyncio
import json

from burr.core import ApplicationBuilder, State, action, default

from bench._common import repeat


def build_step(*, is_async: bool) -> object:
    if is_async:

        @action(reads=["text"], writes=["text"])
        async def shorten_async(state: State) -> State:
            return state.update(text="node: " + state["text"][:20])

        return shorten_async

    @action(reads=["text"], writes=["text"])
    def shorten(state: State) -> State:
        return state.update(text="node: " + state["text"][:20])

    return shorten


def build_steps(length: int, *, is_async: bool) -> dict[str, object]:
    return {f"n{i}": build_step(is_async=is_async) for i in range(length)}


def create_builder(actions: dict[str, object]) -> ApplicationBuilder:
    length = len(actions)
    transitions = [(f"n{i}", f"n{i + 1}", default) for i in range(length - 1)]
    builder = ApplicationBuilder().with_actions(**actions).with_transitions(*transitions)
    return builder.with_state(text="x").with_entrypoint("n0")


def measure_chain(length: int) -> dict[str, float]:
    # The applications are built before the measurement, because our engine also compiles a document once.
    actions = build_steps(length, is_async=False)
    applications = [create_builder(actions).build() for _ in range(8)]
    return repeat(lambda: applications.pop().run(halt_after=[f"n{length - 1}"]), 7).summarize()


async def run_many(count: int) -> None:
    # An application has the state of one run, so each run builds its own; the steps are shared.
    actions = build_steps(5, is_async=True)

    async def run() -> None:
        application = await create_builder(actions).abuild()
        await application.arun(halt_after=["n4"])

    await asyncio.gather(*(run() for _ in range(count)))


small = repeat(lambda: asyncio.run(run_many(200)), 5).summarize()
print(json.dumps({"chain": measure_chain(1000), "small": small}))
