"""Burr: the same chain and the same five-node runs, built the way its documentation does."""

import asyncio
import json

from burr.core import ApplicationBuilder, State, action, default

from bench._common import repeat


def step(*, waits: bool) -> object:
    if waits:

        @action(reads=["text"], writes=["text"])
        async def later(state: State) -> State:
            return state.update(text="node: " + state["text"][:20])

        return later

    @action(reads=["text"], writes=["text"])
    def now(state: State) -> State:
        return state.update(text="node: " + state["text"][:20])

    return now


def steps(length: int, *, waits: bool) -> dict[str, object]:
    return {f"n{i}": step(waits=waits) for i in range(length)}


def builder(actions: dict[str, object]) -> ApplicationBuilder:
    length = len(actions)
    ways = [(f"n{i}", f"n{i + 1}", default) for i in range(length - 1)]
    made = ApplicationBuilder().with_actions(**actions).with_transitions(*ways)
    return made.with_state(text="x").with_entrypoint("n0")


def chain(length: int) -> dict[str, float]:
    # Built outside of the measurement: ours is compiled once, too.
    actions = steps(length, waits=False)
    ready = [builder(actions).build() for _ in range(8)]
    return repeat(lambda: ready.pop().run(halt_after=[f"n{length - 1}"]), 7).summary()


async def many(count: int) -> None:
    # An application holds one run's state, so each run builds its own; the steps are shared.
    actions = steps(5, waits=True)

    async def one() -> None:
        application = await builder(actions).abuild()
        await application.arun(halt_after=["n4"])

    await asyncio.gather(*(one() for _ in range(count)))


small = repeat(lambda: asyncio.run(many(200)), 5).summary()
print(json.dumps({"chain": chain(1000), "small": small}))
