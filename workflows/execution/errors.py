"""Errors between a run and its journal."""

from workflows.engine.errors import EngineFault


class FencedOut(EngineFault):
    """Another worker has claimed this run, so the database refuses further writes of this worker."""


class JournalUnreachable(EngineFault):
    """The database couldn't be reached for as long as the run's lease lasts."""

    retryable = True


class JournalRefused(EngineFault):
    """The database rejected what the run had to write."""
