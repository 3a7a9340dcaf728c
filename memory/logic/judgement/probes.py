"""Linear probes on the vectors of a sentence encoder: each gives a probability to each of its labels.

A probe is a multinomial logistic regression. Its weights are trained by ``python -m bench.judgement`` from the sentences
there, and stand in ``trained/probes.npz``. They belong to one encoder, whose name is stored with them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray


Floats = NDArray[np.float32]

FILE: Final = Path(__file__).with_name("trained") / "probes.npz"
NAMES: Final = ("kind", "attribute", "about", "change", "concern", "time", "wish")


@dataclass(frozen=True, slots=True)
class Probe:
    """Weights of shape (labels, dimensions), and a bias for each label."""

    labels: tuple[str, ...]
    weights: Floats
    bias: Floats

    def predict(self, vectors: Floats) -> Floats:
        """Return the probability of each label for each vector: shape (vectors, labels), each row with the sum 1."""
        logits = vectors @ self.weights.T + self.bias
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares: Floats = powers / powers.sum(axis=1, keepdims=True)
        return shares

    def predict_labels(self, vectors: Floats) -> list[dict[str, float]]:
        """Return the probability of each label by its name, for each vector."""
        return [dict(zip(self.labels, row, strict=True)) for row in self.predict(vectors).tolist()]


@dataclass(frozen=True, slots=True)
class Probes:
    encoder: str  # the name of the encoder whose vectors they read
    center: Floats  # the mean of the facts' vectors, each of length 1: what all statements share
    kind: Probe
    attribute: Probe
    about: Probe
    change: Probe
    concern: Probe
    time: Probe
    wish: Probe


@cache
def load_probes() -> Probes:
    """Read the weights. Raises OSError if the file is missing, and ValueError if it is broken."""
    with np.load(FILE, allow_pickle=False) as arrays:
        probes = {name: _read_probe(arrays, name) for name in NAMES}
        center = arrays["center"].astype(np.float32)
        return Probes(str(arrays["encoder"]), center, **probes)


def save_probes(probes: Probes) -> None:
    """Write the weights in half precision, which changes no decision."""
    arrays: dict[str, NDArray[np.generic]] = {
        "encoder": np.array(probes.encoder),
        "center": probes.center.astype(np.float16),
    }
    for name in NAMES:
        probe: Probe = getattr(probes, name)
        arrays[f"{name}.labels"] = np.array(probe.labels)
        arrays[f"{name}.weights"] = probe.weights.astype(np.float16)
        arrays[f"{name}.bias"] = probe.bias.astype(np.float16)
    np.savez_compressed(FILE, allow_pickle=False, **arrays)


def _read_probe(arrays: Mapping[str, NDArray[np.generic]], name: str) -> Probe:
    labels: Sequence[str] = arrays[f"{name}.labels"].tolist()
    weights, bias = (arrays[f"{name}.{part}"].astype(np.float32) for part in ("weights", "bias"))
    return Probe(tuple(labels), weights, bias)
