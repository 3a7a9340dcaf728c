"""The quality and speed of recall on question sets: `python -m bench.recall --data DIR [--json FILE]`.

Every set of the folder is loaded through the service into PostgreSQL, one entry per text, and its questions are asked
through the service, with permission, provenance and audit. The entries are embedded as by a worker and recalled by
meaning too; the embedding of a question is computed when it is first asked. `--embedder none` recalls by words only, and
another name of MEMORY_EMBEDDER takes another embedder. The same
texts are also ranked in other ways: by the seed's keywords with Dice, by bm25s (installed on first use; if that fails,
by our own plain BM25), and by reciprocal rank fusion. Every other question is held out: the bars (`bench.recall_bars`)
limit the figures of this half, and ranking is tuned on the other, whose figures are printed beside them. Questions that
nothing answers should find nothing (`bench.refusals`). Latency is measured in five rounds, one question after another; it
is printed over all rounds, for the median of the rounds (which the bar limits), and for the best.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench._common import (
    LATENCY_HEADERS,
    ROOT,
    Bar,
    compute_latency,
    install_peer,
    report,
    run_script,
)
from bench._services import add_really_option, create_operator, run_temporary_services
from bench.recall_bars import (
    GOALS,
    GOALS_BY_WORDS,
    MAX_MS,
    build_quality_bars,
    build_refusal_bars,
)
from bench.refusals import (
    Ask,
    Refusals,
    ask_foreign_questions,
    compute_refusals,
    print_refusals,
)
from bench.retrieval_sets import (
    Answer,
    Namespace,
    Quality,
    Question,
    QuestionSet,
    compute_quality,
    read_sets,
)


TOP_K = 10

ROUNDS, TIMED_QUESTIONS = 5, 60

Rank = Callable[[str], Sequence[str]]
Rounds = list[list[float]]


@dataclass(frozen=True)
class Halves:
    """The quality on the half of the questions that is held out, and on the one on which ranking is tuned."""

    held_out: Quality
    tuned: Quality

    def format_columns(self) -> str:
        return self.held_out.format_columns() + self.tuned.format_columns()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder of sets")
    parser.add_argument("--json", type=Path, metavar="FILE", help="file for the results")
    parser.add_argument("--embedder", metavar="NAME", default="local", help="as MEMORY_EMBEDDER")
    parser.add_argument("--no-peers", action="store_true", help="only ours")
    add_really_option(parser)
    options = parser.parse_args()
    os.environ["MEMORY_EMBEDDER"] = options.embedder
    sets = list(read_sets(options.data))
    if not sets:
        parser.error(f"no sets in {options.data}")
    with run_temporary_services(really=options.really):
        return _measure(sets, options)


def _measure(sets: list[QuestionSet], options: argparse.Namespace) -> int:
    operator = create_operator()
    bm25s, note = ({}, "") if options.no_peers else _run_bm25s(options.data)
    bars: list[Bar] = []
    measured: dict[str, object] = {}
    goals = GOALS_BY_WORDS if options.embedder == "none" else GOALS
    for question_set in sets:
        answers, refusals, times = _measure_ours(operator, question_set)
        ours = _compute_halves(answers)
        peers = {} if options.no_peers else _measure_peers(question_set, bm25s)
        results = {f"ours, {options.embedder}": ours, **peers}
        _print_table(question_set, results, times)
        print_refusals(refusals)
        name, p95 = question_set.name, compute_latency(times, 95)
        qualities = {peer: halves.held_out for peer, halves in peers.items()}
        bars += build_quality_bars(name, ours.held_out, qualities, goals)
        bars += [*build_refusal_bars(name, refusals), Bar(f"{name} p95", p95.median, MAX_MS, " ms")]
        measured[name] = {
            **{ranker: asdict(halves) for ranker, halves in results.items()},
            "finds_nothing": asdict(refusals),
            "p50_ms": asdict(compute_latency(times, 50)),
            "p95_ms": asdict(p95),
        }
    sys.stdout.write(note)
    return report(bars, {**measured, "note": note.strip()}, options.json)


def _measure_ours(
    operator: Any, question_set: QuestionSet
) -> tuple[list[Answer], Refusals, Rounds]:
    """Ask all questions to measure the quality, and the first of each namespace again in rounds to measure the time."""
    answers: list[Answer] = []
    asks: list[tuple[Namespace, Ask]] = []
    rounds: Rounds = [[] for _ in range(ROUNDS)]
    for namespace in question_set.namespaces:
        ask = _store_entries(operator, question_set, namespace)
        asks.append((namespace, ask))
        answers += [Answer(question, *ask(question.text)) for question in namespace.questions]
        for milliseconds in rounds:
            questions = namespace.questions[:TIMED_QUESTIONS]
            milliseconds += [_time_question(ask, question) for question in questions]
    return answers, compute_refusals(answers, ask_foreign_questions(asks)), rounds


def _compute_halves(answers: Sequence[Answer]) -> Halves:
    return Halves(compute_quality(answers, held_out=True), compute_quality(answers, held_out=False))


def _time_question(ask: Ask, question: Question) -> float:
    start = time.perf_counter()
    ask(question.text)
    return (time.perf_counter() - start) * 1000


def _store_entries(operator: Any, question_set: QuestionSet, namespace: Namespace) -> Ask:
    """Store the entries, embed them if there is an embedder, and return the function that asks a question."""
    from accounts.principals import load_user_principal
    from config.ids import uuid7
    from memory import services

    user, team = operator
    caller = services.MemoryCaller(load_user_principal(user), team.pk)
    name = f"global:{question_set.name}-{namespace.id}-{uuid7().hex[-6:]}"
    start = time.monotonic()
    for entry in namespace.entries:
        metadata = {name: entry[name] for name in ("group", "time", "title") if entry.get(name)}
        services.remember(
            caller, namespace=name, key=entry["key"], value=entry["text"], metadata=metadata
        )
    mean = (time.monotonic() - start) * 1000 / len(namespace.entries)
    sys.stderr.write(f"{name}: {len(namespace.entries)} entries, {mean:.1f} ms each\n")
    embed_entries(team)

    def ask(question: str) -> tuple[list[str], float]:
        hits = services.recall(caller, namespace=name, query_text=question, top_k=TOP_K)
        return [hit.key for hit in hits], max((hit.score or 0.0 for hit in hits), default=0.0)

    return ask


def embed_entries(team: Any) -> None:
    """Embed the team's entries with the function that a worker uses, if there is an embedder."""
    from memory.embedding.embedders import get_configured_embedder
    from memory.services.recall.embedding_status import load_embedding_state
    from memory.upkeep.embedding import embed_team

    if get_configured_embedder() is None:
        return
    start, count = time.monotonic(), 0
    while embedded := embed_team(team.pk):
        count += embedded
    state = load_embedding_state(team.pk)
    if state is None or state.missing or state.waiting:
        raise SystemExit(f"not embedded: {state}")
    mean = (time.monotonic() - start) * 1000 / max(1, count)
    sys.stderr.write(f"{count} embedded, {mean:.1f} ms each\n")


def _measure_peers(
    question_set: QuestionSet, bm25s: dict[str, dict[str, list[list[str]]]]
) -> dict[str, Halves]:
    from bench.peers import retrieval

    results = {"seed": _measure_ranker(question_set, retrieval.build_seed_ranker)}
    if answers_by_namespace := bm25s.get(question_set.name):
        answers: list[Answer] = []
        for namespace in question_set.namespaces:
            answers += map(Answer, namespace.questions, answers_by_namespace[namespace.id])
        results["bm25s"] = _compute_halves(answers)
    else:
        results["plain BM25"] = _measure_ranker(question_set, retrieval.build_plain_bm25)
    results["rank fusion"] = _measure_ranker(question_set, retrieval.build_rank_fusion)
    return results


def _measure_ranker(question_set: QuestionSet, build_ranker: Callable[[Namespace], Rank]) -> Halves:
    answers = []
    for namespace in question_set.namespaces:
        rank = build_ranker(namespace)
        answers += [Answer(question, rank(question.text)) for question in namespace.questions]
    return _compute_halves(answers)


def _run_bm25s(folder: Path) -> tuple[dict[str, Any], str]:
    """Return the answers of bm25s by set and namespace, and a note on the sets for which plain BM25 replaces it."""
    os.environ["RETRIEVAL_SETS"] = str(folder.resolve())
    try:
        python = install_peer("bm25s", ["bm25s~=0.2", "PyStemmer~=3.1"])
        answers: dict[str, Any] = run_script(python, ROOT / "bench" / "peers" / "bm25s_peer.py")
    except Exception as error:
        return {}, f"bm25s is not available ({type(error).__name__}); plain BM25 replaces it.\n"
    note = "bm25s for English; it splits at spaces, so plain BM25 replaces it for Chinese.\n"
    return answers, note


def _print_table(question_set: QuestionSet, results: dict[str, Halves], times: Rounds) -> None:
    write = sys.stdout.write
    write(f"\n{question_set.name}: {question_set.question_count} questions\n")
    figures = f"{'R@5':>8}{'R@10':>8}{'MRR':>8}"
    write(f"{'held out, then tuned on':24}{figures}{figures}\n")
    for name, halves in results.items():
        write(f"{name:24}{halves.format_columns()}\n")
    write(f"{'ms':24}{LATENCY_HEADERS}\n")
    for percent in (50, 95):
        write(f"{f'p{percent}':24}{compute_latency(times, percent).format_columns()}\n")


if __name__ == "__main__":
    sys.exit(main())
