"""A message is a query and judged, too: the encoder reads it once, and forgets what is no longer among the latest."""

from collections.abc import Sequence

import numpy as np
import pytest

from memory.embedding import encoder


class CountingModel:
    """Encodes a text as its length, and counts what it reads."""

    def __init__(self) -> None:
        self.read_texts: list[str] = []

    def encode(self, texts: Sequence[str]) -> list[list[float]]:
        self.read_texts += texts
        return [[float(len(text)), 1.0] for text in texts]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> CountingModel:
    model = CountingModel()
    monkeypatch.setattr(encoder, "_load_encoder", lambda: model)
    monkeypatch.setattr(encoder, "_LATEST", type(encoder._LATEST)())
    return model


def test_latest_texts_are_read_once_and_come_in_their_order(model: CountingModel) -> None:
    encoder.encode(["a", "bb"])

    vectors = encoder.encode(["ccc", "a", "ccc", "bb"])

    assert model.read_texts == ["a", "bb", "ccc"]
    assert vectors[:, 0].tolist() == [3, 1, 3, 2]
    assert vectors.dtype == np.float32


def test_only_the_latest_are_kept(model: CountingModel) -> None:
    texts = [f"{number}" for number in range(encoder.MAX_LATEST + 1)]
    encoder.encode(texts)

    encoder.encode([texts[0], texts[-1]])

    assert model.read_texts == [*texts, texts[0]]
