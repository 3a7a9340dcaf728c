"""Errors of workflows. The docstring describes the error for developers; the ``sentence`` is shown to people.

An invalid document raises the engine's ``DocumentInvalid`` with every problem; a missing row, or
one of another team, raises ``accounts.errors.NotFound``.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


if TYPE_CHECKING:
    from workflows.engine.editing import Conflict


# For ids of users, groups and conversations; see ``config.ids``.
INVALID_IDENTIFIER = _(
    "Use 1 to 80 characters. Colons, percent signs, spaces and invisible characters take more room."
)


class WorkflowFault(Exception):
    """The base class of this app's errors. ``retryable``: whether the same request may succeed later."""

    retryable = False
    sentence: str | Promise = _("This workflow could not be processed.")

    def __init__(
        self,
        sentence: str | Promise | None = None,
        *,
        field: str | None = None,
        node: str | None = None,
    ) -> None:
        self.field = field  # the field of the request that caused the error, if any
        self.node = node  # the id of the node that caused the error, if any
        self.message: str | Promise = sentence or type(self).sentence
        super().__init__(self.message)

    def __str__(self) -> str:
        return str(self.message)


class NewerDocument(WorkflowFault):
    """The document was written by a newer version of the format; importing it must be confirmed."""

    sentence = _("This document was created by a newer version. Confirm to import it anyway.")

    def __init__(self, version: str) -> None:
        super().__init__()
        self.version = version


class NoModelConnected(WorkflowFault):
    """A workflow can't be drafted from a description, because the team has no model with a default."""

    sentence = _("Connect a model first, with a default model: it drafts the workflow.")


class DraftingFailed(WorkflowFault):
    """The model gave no answer that could be turned into a workflow, even after one repair."""

    retryable = True
    sentence = _("The workflow could not be drafted.")


class NothingToPublish(WorkflowFault):
    """The draft equals the published version."""

    sentence = _("No changes since the last version.")


class WorkflowArchived(WorkflowFault):
    """The workflow is archived: it can be viewed and exported, but not changed or run."""

    sentence = _("This workflow is archived.")


class StillRunning(WorkflowFault):
    """A run for this person is in progress."""

    retryable = True
    sentence = _("A run for this user is in progress. Try again when it has finished.")


class RunNotPaused(WorkflowFault):
    """Only a run that is paused at a breakpoint can be resumed or edited."""

    sentence = _("This run is not paused at a breakpoint.")


class WaitClosed(WorkflowFault):
    """A question of a run has been answered, its time is up, or the run has ended."""

    sentence = _("This request is closed: its time is up, or the run has ended.")

    def __init__(self, *, was_answered: bool = False) -> None:
        super().__init__(_("This has already been answered.") if was_answered else None)


class NameTaken(WorkflowFault):
    """Another row of the same kind has this name already."""

    sentence = _("This name is already taken.")


class InvalidValue(WorkflowFault):
    """A value passed to a service breaks a rule; the sentence says which."""

    sentence = _("This value is not allowed.")


class EditConflict(WorkflowFault):
    """Someone else changed the same value in the meantime. Each of the ``conflicts`` has both values."""

    sentence = _("Someone else changed this in the meantime.")

    def __init__(
        self, conflicts: Sequence["Conflict"] = (), sentence: str | Promise | None = None
    ) -> None:
        super().__init__(sentence)
        self.conflicts = tuple(conflicts)
        self.undoes: int | None = None  # the number of the revision to undo or redo, if that failed


class NothingToUndo(WorkflowFault):
    """The principal has no edit to undo or redo."""

    sentence = _("You have nothing to undo.")
