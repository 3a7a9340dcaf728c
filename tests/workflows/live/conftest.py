"""Real workers, for the tests of streams whose runs go on."""

from tests.durability.conftest import cluster


__all__ = ["cluster"]
