"""Renders of templates in a warm runner: ``python -m bench.render [--json FILE]``.

The template has a loop and a filter, so it isn't substituted in this process but sent to the runner and back.
"""

import argparse
import asyncio
import time
from pathlib import Path

from bench._common import Bar, compute_latency, report
from workflows.sandbox.pool import RunnerPool
from workflows.sandbox.templates import TemplatePool


TEMPLATE = "{% for x in xs %}{{ loop.index }}. {{ x.name|title }}\n{% endfor %}"
INPUTS = {"xs": [{"name": f"name {number}"} for number in range(20)]}
ROUNDS = 5
MOST_MILLISECONDS = 5


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--times", type=int, default=200, help="renders of each round")
    parser.add_argument("--json", type=Path, metavar="FILE", help="file for the results")
    options = parser.parse_args()
    templates = TemplatePool(RunnerPool(2))
    try:
        rounds = asyncio.run(measure(templates, options.times))
    finally:
        templates.close()
    latency = compute_latency(rounds, 50)
    bar = Bar("a warm render, median", latency.median, MOST_MILLISECONDS, " ms")
    return report([bar], {"rounds": rounds}, options.json)


async def measure(templates: TemplatePool, times: int) -> list[list[float]]:
    """Return the milliseconds of each render in each round."""
    await templates.pool.warm()
    return [[await _measure_one(templates) for _ in range(times)] for _ in range(ROUNDS)]


async def _measure_one(templates: TemplatePool) -> float:
    began = time.perf_counter()
    await templates.render(TEMPLATE, INPUTS)
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    raise SystemExit(main())
