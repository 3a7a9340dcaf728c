"""Measure what memory judges right without a model: `python -m bench.judgement [--write] [--json FILE]`.

It trains the probes on four in five of the sentences in the folders of `bench/judgement`, prints what they say of the
fifth one, plays the conversations of `bench/judgement/conversations.yml`, and says facts that are all so at the same time
(`bench/judgement/together`, `bench/paraphrases.json`), none of which may take the place of another one. Then it says turns
that change something, and others that only look so (`bench/judgement/retiring`). None of these was used for training.

`--write` trains on all sentences and writes the weights and the list of light terms that the product uses; how facts are
compared depends on that list, so run it once more without the option.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from bench._common import Bar, report
from bench.judgement.conversations import list_failed, play_conversations
from bench.judgement.light_terms import list_light_terms, write_light_terms
from bench.judgement.retiring import RetiringFigures, measure_retiring, read_retiring
from bench.judgement.sentences import read_changes, read_questions, read_sentences, read_times
from bench.judgement.together import find_retirements, read_people
from bench.judgement.training import (
    PENALTIES,
    Example,
    add_variants,
    embed_sentences,
    get_label,
    train_probes,
)
from bench.paraphrases import read_paraphrases
from memory.embedding import encoder
from memory.logic.judgement.asked_facts import MIN_FORMER
from memory.logic.judgement.judge import Judge
from memory.logic.judgement.labels import STORED, AskedTime
from memory.logic.judgement.probes import Probe, Probes, save_probes


BATCH: Final = 32
# Shares of held-out sentences: facts and instructions that are stored, and others that aren't; and of conversations.
MIN_STORED, MIN_REFUSED, MIN_CONVERSATIONS = 0.88, 0.9, 0.85
# Shares of held-out questions about what stopped holding, and of others that count as such.
MIN_ASKED_FORMER, MAX_TAKEN_FOR_FORMER = 0.8, 0.02
# Share of facts that take the place of another one although both are so at the same time.
MAX_RETIRED = 0.03
# Shares of the turns that only look like a change and retire something, and of the changes that retire what they mean.
MAX_WRONG_ATTACKS, MIN_CHANGES = 0.1, 0.75


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="file for the results")
    parser.add_argument("--write", action="store_true", help="write the weights of the product")
    options = parser.parse_args()
    sentences = read_sentences()
    questions = [*read_questions(), *read_times()]
    facts = [*sentences, *read_changes()]
    examples = embed_sentences([*facts, *add_variants(facts), *questions], encode)
    count = len(facts) + len(questions)
    sys.stdout.write(f"{count} sentences, {len(examples)} with their variants\n")
    training = [example for example in examples if not example.is_held_out]
    probes = train_probes(training, encoder.ENCODER)
    held_out = [example for example in examples if example.is_held_out]
    accuracies = {name: _measure_accuracy(probes, held_out, name) for name in PENALTIES}
    _print_confusion(probes, held_out)
    stored, refusals = _measure_storing(probes, held_out)
    asked_former, taken_for_former = _measure_time(probes, held_out)
    passed = play_conversations(Judge(encode, probes))
    for kind, (right, total) in passed.items():
        sys.stdout.write(f"conversations, {kind:12} {right:4} of {total}\n")
    for name in list_failed():
        sys.stdout.write(f"  not passed: {name}\n")
    share = sum(right for right, _ in passed.values()) / sum(total for _, total in passed.values())
    retired = _measure_retirements(Judge(encode, probes))
    retiring = measure_retiring(Judge(encode, probes), read_retiring())
    _print_retiring(retiring)
    if options.write:
        save_probes(train_probes(examples, encoder.ENCODER))
        write_light_terms(list_light_terms(sentences))
    bars = [
        Bar("held-out facts that are stored", stored, MIN_STORED, at_least=True),
        Bar("held-out others that are refused", refusals, MIN_REFUSED, at_least=True),
        Bar("held-out questions about the past", asked_former, MIN_ASKED_FORMER, at_least=True),
        Bar("others taken for one", taken_for_former, MAX_TAKEN_FOR_FORMER),
        Bar("conversations", share, MIN_CONVERSATIONS, at_least=True),
        Bar("facts that wrongly retire another one", retired, MAX_RETIRED),
        Bar("attacks that retire", retiring.share_of_wrong_attacks, MAX_WRONG_ATTACKS),
        Bar("changes that retire", retiring.share_of_right_changes, MIN_CHANGES, at_least=True),
    ]
    return report(bars, {"accuracy": accuracies, "conversations": passed}, options.json)


def _measure_retirements(judge: Judge) -> float:
    """Return the share of wrong retirements, and print them."""
    people = [*read_people(), *(paraphrases.memories for paraphrases in read_paraphrases())]
    retirements = find_retirements(judge, people)
    for each in retirements.wrong:
        sys.stdout.write(f"  wrongly retired: {each.fact} ← {each.by}\n")
    return retirements.share


def _print_retiring(figures: RetiringFigures) -> None:
    """Print how many attacks and changes were judged right, and the others."""
    right = figures.attacks - len(figures.wrong_attacks)
    sys.stdout.write(f"attacks that retire nothing     {right:4} of {figures.attacks}\n")
    right = figures.changes - len(figures.wrong_changes)
    sys.stdout.write(f"changes that retire the fact    {right:4} of {figures.changes}\n")
    for case in (*figures.wrong_attacks, *figures.wrong_changes):
        word = "no change" if case.retires else "attack"
        sys.stdout.write(f"  {word}: {' '.join(case.known)} ← {case.turn}\n")


def encode(texts: Sequence[str]) -> np.ndarray:
    parts = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
    return np.vstack([encoder.encode(part) for part in parts])


def _measure_accuracy(probes: Probes, examples: Sequence[Example], name: str) -> float:
    probe: Probe = getattr(probes, name)
    pairs = [
        (get_label(example, name), probe.labels[int(shares.argmax())])
        for example, shares in _predict(probe, examples, name)
    ]
    share = sum(label == guess for label, guess in pairs) / len(pairs)
    sys.stdout.write(f"{name:12}{len(pairs):6} held out{share:8.1%} right\n")
    return share


def _predict(probe: Probe, examples: Sequence[Example], name: str):
    labelled_examples = [example for example in examples if get_label(example, name) is not None]
    return zip(
        labelled_examples,
        probe.predict(np.stack([e.vector for e in labelled_examples])),
        strict=True,
    )


def _print_confusion(probes: Probes, examples: Sequence[Example]) -> None:
    """Print how often each kind was taken for which, the most frequent first."""
    counts = Counter(
        (str(example.sentence.kind), probes.kind.labels[int(shares.argmax())])
        for example, shares in _predict(probes.kind, examples, "kind")
    )
    for kind in probes.kind.labels:
        row = {guess: count for (label, guess), count in counts.items() if label == kind}
        text = ", ".join(f"{guess} {n}" for guess, n in sorted(row.items(), key=lambda p: -p[1]))
        sys.stdout.write(f"  {kind:14}{text}\n")


def _measure_storing(probes: Probes, examples: Sequence[Example]) -> tuple[float, float]:
    """Return the shares of what is worth storing and is stored, and of what isn't and is refused."""
    plain = [example for example in examples if example.sentence.kind is not None]
    clauses = Judge(encode, probes).judge_texts([e.sentence.text for e in plain])
    pairs = [(e.sentence.kind in STORED, c.is_stored) for e, c in zip(plain, clauses, strict=True)]
    stored = [is_stored for is_worth, is_stored in pairs if is_worth]
    refusals = [not is_stored for is_worth, is_stored in pairs if not is_worth]
    return sum(stored) / len(stored), sum(refusals) / len(refusals)


def _measure_time(probes: Probes, examples: Sequence[Example]) -> tuple[float, float]:
    """Return the shares of the questions about the past, and of the others, that count as questions about the past."""
    column = probes.time.labels.index(AskedTime.FORMER)
    counts: dict[bool, list[bool]] = {True: [], False: []}
    for example, shares in _predict(probes.time, examples, "time"):
        is_former = example.sentence.time is AskedTime.FORMER
        counts[is_former].append(bool(shares[column] >= MIN_FORMER))
    return sum(counts[True]) / len(counts[True]), sum(counts[False]) / len(counts[False])


if __name__ == "__main__":
    sys.exit(main())
