"""How many questions in other words are answered from the right memory: `python -m bench.meaning [--json FILE]`.

The questions are those of `bench/paraphrases.json`, which share no content word with their memory.

Recall: all memories of a language are stored in one namespace through the service, embedded as by a worker, and asked
for through the service. Answers: a person tells the memories to a chatbot, one message each, and asks the questions,
each in a new conversation; the chatbot is the first sample or the workflow that *New workflow* creates, both unchanged
and without a connected model. An answer counts as right if it quotes the right memory; it quotes three at most.
`--embedder none` (or another name of MEMORY_EMBEDDER) measures another installation than the default one.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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
    find_stated_positions,
    read_paraphrases,
    split_halves,
)
from bench.recall import embed_entries


# The least share of questions that are answered from the right memory, and the least shares of those whose memory is
# recalled among the first five, which a model gets, and in the first place.
MIN_ANSWERED, MIN_IN_FIVE, MIN_FIRST = 0.8, 0.9, 0.7
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
    recalled, recall_bars = _measure_recall(options.embedder)
    answered, answer_bars = _measure_answers()
    return report(
        [*recall_bars, *answer_bars], {"recall": recalled, "answers": answered}, options.json
    )


def _measure_recall(embedder: str) -> tuple[dict[str, Any], list[Bar]]:
    operator = create_operator()
    shares: dict[str, Share] = {}
    all_positions: list[int | None] = []
    for paraphrases in read_paraphrases():
        positions = find_positions(paraphrases, _store_memories(operator, paraphrases))
        all_positions += positions
        for name, half in split_halves(positions).items():
            shares[f"{paraphrases.language}, {name}"] = count_share(half)
    shares["all"] = total_share = count_share(all_positions)
    sys.stdout.write(f"{'recall, ' + embedder:36}{'questions':>10}{'first':>8}{'in five':>8}\n")
    for name, share in shares.items():
        sys.stdout.write(f"{name:36}{share.format_columns()}\n")
    in_five, first = (
        count / total_share.questions for count in (total_share.in_five, total_share.first)
    )
    bars = [
        Bar("recalled in the first five", in_five, MIN_IN_FIVE, at_least=True),
        Bar("recalled first", first, MIN_FIRST, at_least=True),
    ]
    return {name: asdict(share) for name, share in shares.items()}, bars


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


def _measure_answers() -> tuple[dict[str, Any], list[Bar]]:
    from workflows.engine.language.document import Mode
    from workflows.services.catalog.new_workflow import create_ready
    from workflows.services.samples.samples import copy_sample

    creators: dict[str, Callable[[Any, Any], Any]] = {
        "first sample": lambda principal, team_id: copy_sample(
            principal, team_id=team_id, slug="chatbot"
        ),
        "new workflow": lambda principal, team_id: create_ready(
            principal, team_id=team_id, mode=Mode.CHAT, name="Bot"
        ),
    }
    results: dict[str, Any] = {}
    bars = []
    header = f"{'answers':36}{'questions':>10}{'first':>8}{'right':>8}{'quoted':>8}\n"
    sys.stdout.write(header)
    with _run_worker() as worker:
        for name, create in creators.items():
            stated: list[tuple[int | None, int]] = []
            for paraphrases in read_paraphrases():
                positions = find_stated_positions(
                    paraphrases, _tell_memories(worker, create, paraphrases)
                )
                stated += positions
                for half_name, half in (
                    ("looked at", positions[::2]),
                    ("kept aside", positions[1::2]),
                ):
                    row_name = f"{name}, {paraphrases.language}, {half_name}"
                    results[row_name] = _print_answers(row_name, half)
            results[name] = _print_answers(name, stated)
            share = results[name]["right"] / results[name]["questions"]
            bars.append(Bar(f"answered, {name}", share, MIN_ANSWERED, at_least=True))
    return results, bars


def _print_answers(name: str, stated: Sequence[tuple[int | None, int]]) -> dict[str, float]:
    count = len(stated)
    first = sum(position == 0 for position, _ in stated)
    right = sum(position is not None for position, _ in stated)
    quoted = sum(number for _, number in stated) / count
    sys.stdout.write(f"{name:36}{count:10}{first / count:8.2f}{right / count:8.2f}{quoted:8.2f}\n")
    return {"questions": count, "first": first, "right": right, "quoted": quoted}


@contextmanager
def _run_worker() -> Iterator[Any]:
    from workflows.execution.worker import Worker
    from workflows.services.runs import runs

    runs.wake_worker = lambda _run_id: None  # the benchmark executes the runs itself
    worker = Worker(capacity=1)
    worker.start()
    try:
        yield worker
    finally:
        worker.stop(0)


def _tell_memories(
    worker: Any, create: Callable[[Any, Any], Any], paraphrases: Paraphrases
) -> Callable[[str], str]:
    """Tell a new chatbot the memories, embed what it stored, and return the function that asks it a question."""
    from accounts.principals import load_user_principal
    from accounts.tenancy import tenant
    from workflows.models import Run
    from workflows.services.runs import runs

    user, team = create_operator()
    principal = load_user_principal(user)
    workflow = create(principal, team.pk)

    def say(message: str) -> str:
        run = runs.start_run(principal, workflow=workflow, query=message)
        worker.execute_run(run.pk)
        with tenant([team.pk]):
            row = Run.objects.unscoped().get(pk=run.pk)
        # Without a model, "give me …" is a task that fails; it counts as a wrong answer.
        return str((row.outputs or {}).get("answer", ""))

    for memory in paraphrases.memories:
        say(memory)
    embed_entries(team)
    return say


if __name__ == "__main__":
    sys.exit(main())
