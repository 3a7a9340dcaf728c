"""Errors between a run and its journal."""

from workflows.engine.errors import WorkflowFault


class FencedOut(WorkflowFault):
    """Another worker has claimed this run; the database refuses what this worker still writes."""


class JournalUnreachable(WorkflowFault):
    """The database couldn't be reached for as long as the run's lease lasts."""

    retryable = True


class JournalRefused(WorkflowFault):
    """The database rejected what the run had to write."""
