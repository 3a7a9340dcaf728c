"""Trains the probes: multinomial logistic regression with a quadratic penalty, by gradient descent with momentum."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench.judgement.sentences import Sentence
from memory.logic.judgement.labels import Kind
from memory.logic.judgement.probes import Floats, Probe, Probes


STEPS: Final = 900
RATE: Final = 1.0
MOMENTUM: Final = 0.95
HELD_OUT: Final = 5  # one sentence in so many is held out
# Penalty by probe; found by the held-out share.
PENALTIES: Final = {
    "kind": 2e-5,
    "attribute": 1e-4,
    "about": 1.5e-4,
    "change": 1.5e-4,
    "concern": 4e-4,
    "time": 2e-4,
    "wish": 1e-3,
}


@dataclass(frozen=True)
class Example:
    """A sentence with its vector."""

    sentence: Sentence
    vector: Floats

    @property
    def is_held_out(self) -> bool:
        """Return whether it is kept for measuring: by its text, so that adding sentences moves no other one."""
        return hashlib.sha256(self.sentence.text.encode()).digest()[0] % HELD_OUT == 0


Encode = Callable[[Sequence[str]], Floats]


def embed_sentences(sentences: Sequence[Sentence], encode: Encode) -> list[Example]:
    vectors = encode([sentence.text for sentence in sentences])
    return [Example(*pair) for pair in zip(sentences, vectors, strict=True)]


def train_probes(examples: Sequence[Example], encoder: str) -> Probes:
    facts = np.stack([e.vector for e in examples if e.sentence.kind is Kind.FACT])
    center = (facts / np.linalg.norm(facts, axis=1, keepdims=True)).mean(axis=0)
    probes = {name: train_probe(examples, name) for name in PENALTIES}
    return Probes(encoder, center.astype(np.float32), **probes)


def train_probe(examples: Sequence[Example], name: str) -> Probe:
    """Train on the examples that have a label for the probe; each label has the weight of the root of its number."""
    labelled_examples = [example for example in examples if get_label(example, name) is not None]
    labels = tuple(sorted({str(get_label(example, name)) for example in labelled_examples}))
    indexes = {label: index for index, label in enumerate(labels)}
    targets = np.array([indexes[str(get_label(example, name))] for example in labelled_examples])
    counts = np.bincount(targets, minlength=len(labels)).astype(np.float32)
    weights = (1 / np.sqrt(counts))[targets]
    vectors = np.stack([example.vector for example in labelled_examples])
    matrix, bias = _fit(vectors, targets, weights / weights.sum(), len(labels), PENALTIES[name])
    return Probe(labels, matrix, bias)


def get_label(example: Example, name: str) -> str | None:
    label: str | None = getattr(example.sentence, name)
    return label


def _fit(
    vectors: Floats, targets: NDArray[np.int64], weights: Floats, count: int, penalty: float
) -> tuple[Floats, Floats]:
    """Return weights (labels, dimensions) and biases that minimize the weighted cross-entropy and the penalty."""
    expected_shares = np.eye(count, dtype=np.float32)[targets]
    # The vectors are short in most directions: dividing by the spread makes one rate fit all of them.
    scale = 1 / (vectors.std(axis=0) * np.sqrt(vectors.shape[1]) + 1e-6)
    scaled = vectors * scale
    matrix = np.zeros((count, vectors.shape[1]), dtype=np.float32)
    bias = np.zeros(count, dtype=np.float32)
    speed, bias_speed = np.zeros_like(matrix), np.zeros_like(bias)
    for _step in range(STEPS):
        shares = Probe(("",) * count, matrix, bias).predict(scaled)
        error = (shares - expected_shares) * weights[:, None]
        speed = MOMENTUM * speed - RATE * (error.T @ scaled + penalty * matrix)
        bias_speed = MOMENTUM * bias_speed - RATE * error.sum(axis=0)
        matrix, bias = matrix + speed, bias + bias_speed
    return (matrix * scale).astype(np.float32), bias.astype(np.float32)


def add_variants(sentences: Sequence[Sentence]) -> list[Sentence]:
    """Return what else the sentences teach: the same without the mark at the end, and ends that are no clause."""
    return [*_strip_marks(sentences), *_cut_fragments(sentences)]


def _strip_marks(sentences: Sequence[Sentence]) -> Iterator[Sentence]:
    for sentence in sentences:
        text = sentence.text.rstrip(".!。！")
        if text != sentence.text:
            yield replace(sentence, text=text)


def _cut_fragments(sentences: Sequence[Sentence], every: int = 5) -> Iterator[Sentence]:
    """Yield the ends of some facts: "and coffee" of "I like tea and coffee"."""
    for sentence in sentences[::every]:
        text = sentence.text.rstrip(".!。！ ")
        words = text.split()
        part = " ".join(words[-2:]) if len(words) > 5 else text[-3:] if len(words) == 1 else ""
        if sentence.kind is Kind.FACT and part and len(part) < len(text) / 2:
            yield Sentence(part, sentence.language, Kind.FRAGMENT)
