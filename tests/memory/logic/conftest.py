"""The judge of the product, with the real encoder: a second to load it, milliseconds for a text."""

import pytest

from memory.embedding import encoder
from memory.logic.judgement.judge import Judge
from memory.logic.judgement.probes import load_probes


@pytest.fixture(scope="session")
def judge() -> Judge:
    return Judge(encoder.encode, load_probes())
