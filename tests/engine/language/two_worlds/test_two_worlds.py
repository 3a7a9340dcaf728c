"""What pages say changes nothing in memory that has no mark: random workflows, in worlds with different pages.

Each workflow is run with a page that says one thing, another thing, or nothing. Whatever is stored without a mark has to
be the same each time: then it neither has the page's words, nor is it there because the page said so. What a run that
was cut off has left out isn't compared.
"""

from collections.abc import Sequence

import pytest

from tests.engine.language.two_worlds.pieces import PIECES
from tests.engine.language.two_worlds.worlds import compare
from tests.engine.language.two_worlds.writer import write_chat
from tests.support.cases import for_each
from tests.support.documents import answer, branch, document, node, start
from workflows.engine.language.document import Mode


BY_NIGHT = [range(first, first + 25) for first in range(10, 410, 25)]
# The last one has lost a mark before: a container went on after a round that failed.
BY_DAY = (*range(8), 223)
SEEDS = pytest.mark.parametrize(
    "seeds",
    [BY_DAY, *(pytest.param(seeds, marks=pytest.mark.nightly) for seeds in BY_NIGHT)],
    ids=["by day", *(f"nightly {seeds.start}" for seeds in BY_NIGHT)],
)


@SEEDS
async def test_pages_leave_a_mark_on_all_that_they_change_in_memory(seeds: Sequence[int]) -> None:
    results = {}
    for seed in seeds:
        made, workflows = write_chat(seed, PIECES)
        results[seed] = await compare(made, workflows, turns=2 if seed % 3 else 3)

    assert {seed: places for seed, places in results.items() if places} == {}
    # Otherwise the test would show nothing.
    assert sum(places is not None for places in results.values()) > len(seeds) / 3


@for_each("selector", [["page", "text"], ["start", "own"]])
async def test_entry_whose_mark_is_lost_is_found(selector: list[str]) -> None:
    """An author who says whose words they are is believed, so these have no mark."""
    made = document(
        [start("own"), node("page", "page", error_strategy="fail-branch"), branch("if", ["page", "text"], "alpha"),
         node("s", "memory-store", scope="conversation", key="k", value_selector=selector, metadata={"origin": "rule"}),
         answer("last", "Done")],
        ["start -> page", "page -> if", "if:true -> s", "s -> last", "if:false -> last", "page:fail-branch -> last"],
        mode=Mode.CHAT,
    )  # fmt: skip

    assert await compare(made, {}, turns=1) == [("conv:c1", "k")]


def test_every_piece_is_in_one_of_the_workflows() -> None:
    kinds = {made.kind for seed in range(60) for made in write_chat(seed, PIECES)[0].nodes}

    assert len(kinds) >= len(PIECES) - 2  # two pieces make iterations, two make loops
