"""How many questions in other words are answered from the right memory: `python -m bench.meaning [--json FILE]`.

The questions are those of `bench/paraphrases.json`, which share no content word with their memory. All memories of a
language are stored in one namespace through the service, embedded as by a worker, and asked for through the service.
`--embedder none` (or another name of MEMORY_EMBEDDER) measures another installation than the default one.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench._common import Bar, report
from bench._services import add_really_option, create_operator, run_temporary_services
from bench.paraphrases import (
    Paraphrases,
    Share,
    count_share,
    find_positions,
    read_paraphrases,
    split_halves,
)
from bench.recall import embed_entries


# The least shares of questions whose memory is among the first five, which a model gets, and is the first.
MIN_IN_FIVE, MIN_FIRST = 0.8, 0.7
TOP_K = 5


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="file for the results")
    parser.add_argument("--embedder", metavar="NAME", default="local", help="as MEMORY_EMBEDDER")
    add_really_option(parser)
    options = parser.parse_args()
    os.environ["MEMORY_EMBEDDER"] = options.embedder
    with run_temporary_services(really=options.really):
        return _measure(options)


def _measure(options: argparse.Namespace) -> int:
    operator = create_operator()
    shares: dict[str, Share] = {}
    all_positions: list[int | None] = []
    for paraphrases in read_paraphrases():
        positions = find_positions(paraphrases, _store_memories(operator, paraphrases))
        all_positions += positions
        for name, half in split_halves(positions).items():
            shares[f"{paraphrases.language}, {name}"] = count_share(half)
    shares["all"] = total_share = count_share(all_positions)
    sys.stdout.write(f"{options.embedder:24}{'questions':>10}{'first':>8}{'in five':>8}\n")
    for name, share in shares.items():
        sys.stdout.write(f"{name:24}{share.format_columns()}\n")
    bars = [
        Bar(
            "in the first five",
            total_share.in_five / total_share.questions,
            MIN_IN_FIVE,
            at_least=True,
        ),
        Bar("first", total_share.first / total_share.questions, MIN_FIRST, at_least=True),
    ]
    return report(bars, {name: asdict(share) for name, share in shares.items()}, options.json)


def _store_memories(operator: Any, paraphrases: Paraphrases) -> Callable[[str], Sequence[str]]:
    """Store the memories with keys as a program makes them, embed them, and return the function that asks."""
    from accounts.principals import load_user_principal
    from config.ids import uuid7
    from memory import services

    user, team = operator
    caller = services.MemoryCaller(load_user_principal(user), team.pk)
    name = f"global:paraphrases-{paraphrases.language}"
    for memory in paraphrases.memories:
        services.remember(caller, namespace=name, key=f"fact:{uuid7()}", value=memory)
    embed_entries(team)

    def ask(question: str) -> list[str]:
        hits = services.recall(caller, namespace=name, query_text=question, top_k=TOP_K)
        return [str(hit.value) for hit in hits]

    return ask


if __name__ == "__main__":
    sys.exit(main())
