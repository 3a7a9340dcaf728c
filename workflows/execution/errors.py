"""Errors between a run and its journal."""

from workflows.engine.errors import WorkflowFault


class FencedOut(WorkflowFault):
    """Another worker drives this run now; whatever this one still does counts for nothing."""


class JournalUnreachable(WorkflowFault):
    """The database couldn't be reached for as long as the run's lease lasts."""

    retryable = True


class JournalRefused(WorkflowFault):
    """The database refused what the run had to write."""
