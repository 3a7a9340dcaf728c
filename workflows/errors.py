"""Errors of workflows. The docstring describes the error for developers; the ``sentence`` is shown to people.

An invalid document raises the engine's ``DocumentInvalid`` with every problem; a missing row, or
one of another team, raises ``accounts.errors.NotFound``.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


if TYPE_CHECKING:
    from workflows.engine.editing import Conflict
    from workflows.engine.language.problems import Problem


MAX_NAMES = 10  # that a sentence lists
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


class BudgetExceeded(WorkflowFault):
    """A run can't start, because its team or API key has used up a limit. ``retry_after``: seconds until it may."""

    retryable = True
    sentence = _("A limit of this team is reached.")

    def __init__(self, sentence: str, *, retry_after: int) -> None:
        super().__init__(sentence)
        self.retry_after = retry_after


class TooManyVisits(WorkflowFault):
    """A visitor of a public page, their network, or all of its visitors sent too many requests."""

    retryable = True
    sentence = _("Too many requests. Wait a moment, then try again.")

    def __init__(self, *, retry_after: int) -> None:
        super().__init__()
        self.retry_after = retry_after


class TooManyCallsOutside(WorkflowFault):
    """A person or a team already waits for as many models, servers and pages as it may at once."""

    retryable = True
    retry_after = 5
    sentence = _("You or your team already wait for several tries. Wait until one has ended.")


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


class NotPublished(WorkflowFault):
    """A run of the published version was requested, but the workflow has none. Its draft runs only on request."""

    sentence = _("This workflow has not been published yet.")


class PublishingUnconfirmed(WorkflowFault):
    """Runs of the version would fail at some nodes, and nobody confirmed to publish it. ``problems`` has one for each."""

    sentence = _("Not published: a run would fail at some nodes. Confirm to publish anyway.")

    def __init__(self, problems: Sequence["Problem"], titles: Mapping[str, str]) -> None:
        super().__init__()
        self.problems = tuple(problems)
        self.titles = titles


class CasesNotPassed(WorkflowFault):
    """The workflow is published only if the cases of a set pass, and these have failed or were not run with it."""

    def __init__(self, data_set: str, failed: Sequence[str], missing: Sequence[str]) -> None:
        self.data_set, self.failed, self.missing = data_set, tuple(failed), tuple(missing)
        parts = [_("Not published: the cases of %(set)s must pass first.") % {"set": data_set}]
        if failed:
            parts.append(_("Failed: %(names)s.") % {"names": _list_names(failed)})
        if missing:
            parts.append(
                _("Not run with this version: %(names)s.") % {"names": _list_names(missing)}
            )
        super().__init__(" ".join(parts))

    @property
    def hidden_count(self) -> int:
        """Return how many cases a list of the first ones of each kind leaves out."""
        lengths = (len(self.failed), len(self.missing))
        return sum(max(0, length - MAX_NAMES) for length in lengths)


def _list_names(names: Sequence[str]) -> str:
    """Return the first names, shortened, and how many more there are."""
    texts = [name if len(name) <= 60 else f"{name[:59]}…" for name in names[:MAX_NAMES]]
    more = len(names) - len(texts)
    return ", ".join([*texts, _("and %(n)s more") % {"n": more}] if more else texts)


class WorkflowArchived(WorkflowFault):
    """The workflow is archived: it can be viewed and exported, but not changed or run."""

    sentence = _("This workflow is archived.")


class WorkflowInUse(WorkflowFault):
    """The workflow can be archived only when the caller accepts what that ends. ``problems`` has one for each use."""

    def __init__(self, problems: Sequence["Problem"]) -> None:
        self.problems = tuple(problems)
        sentence = _("Not archived, because it is used. Confirm to archive it anyway.")
        messages = [problem.message for problem in problems[:MAX_NAMES]]
        super().__init__(" ".join([str(sentence), *messages]))


class QueueFull(WorkflowFault):
    """As many runs of the team wait in the queue as the server allows. ``retry_after``: seconds until a retry makes sense."""

    retryable = True
    retry_after = 30

    def __init__(self, limit: int) -> None:
        super().__init__(
            _(
                "%(count)s runs of your team are waiting already, which is the most that this server queues for a team. "
                "Start this one again when some of them have finished."
            )
            % {"count": limit}
        )


class CallNotAllowed(WorkflowFault):
    """A run that called this installation may start no further run that way: its start has reached a limit, or spends with one."""


class StillRunning(WorkflowFault):
    """A run for this person is in progress."""

    retryable = True
    sentence = _("A run for this user is in progress. Try again when it has finished.")


class RunNotParked(WorkflowFault):
    """Only a run that was parked, because workers died while they executed it, can be continued."""

    sentence = _(
        "This run can't be continued: it was not given up because of workers that crashed."
    )


class RunNotEnded(WorkflowFault):
    """A run can be deleted only after it and the runs that it started have ended."""

    sentence = _("This run has not ended. Stop it before you delete it.")


class RunNotPaused(WorkflowFault):
    """Only a run that is paused at a breakpoint can be resumed or edited."""

    sentence = _("This run is not paused at a breakpoint.")


class WaitClosed(WorkflowFault):
    """A question of a run has been answered, its time is up, or the run has ended."""

    sentence = _("This request is closed: its time is up, or the run has ended.")

    def __init__(self, *, was_answered: bool = False, answered_by: str = "") -> None:
        self.answered_by = answered_by
        sentence: str | Promise | None = None
        if answered_by:
            sentence = _("This has already been answered by %(name)s.") % {"name": answered_by}
        elif was_answered:
            sentence = _("This has already been answered.")
        super().__init__(sentence)


class KeyReused(WorkflowFault):
    """An ``Idempotency-Key`` was sent again with another request."""

    sentence = _(
        "This Idempotency-Key was used for another request. Use a new key for a new request."
    )


class KeyInUse(WorkflowFault):
    """The first request with this ``Idempotency-Key`` is still being handled."""

    retryable = True
    sentence = _("The first request with this Idempotency-Key is still being handled. Try again.")


class NameTaken(WorkflowFault):
    """Another row of the same kind has this name already."""

    sentence = _("This name is already taken.")


class InvalidValue(WorkflowFault):
    """A value passed to a service breaks a rule; the sentence says which."""

    sentence = _("This value is not allowed.")


class ContentTooLarge(InvalidValue):
    """A file, a text or a value that was sent is larger than it may be."""

    sentence = _("This is too large.")


class FileRefused(InvalidValue):
    """A file can't be stored or used: its type is not accepted, or it isn't the caller's."""

    sentence = _("This file is not accepted.")


class FileTooLarge(FileRefused, ContentTooLarge):
    """A file is larger than files of its type may be, or than the room that its team has left."""

    sentence = _("The file is too large.")


class FilesUnavailable(WorkflowFault):
    """The store of files can't be reached at the moment."""

    sentence = _("Files can't be reached at the moment. Try again in a few seconds.")
    retryable = True


class FileLinkExpired(WorkflowFault):
    """The signature of a link to a file is too old. The file's own person needs none."""

    sentence = _("This link has expired. Whoever the file belongs to can open it after signing in.")


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


class CallRefused(WorkflowFault):
    """A call of a webhook isn't as its node expects it. ``status`` is that of the answer."""

    sentence = _("This call was refused.")

    def __init__(self, sentence: str | Promise, *, status: int) -> None:
        super().__init__(sentence)
        self.status = status


class TriggerStopped(WorkflowFault):
    """A trigger is switched off, isn't published, or has lost its rights."""

    sentence = _("This trigger is turned off.")
