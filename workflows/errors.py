"""What workflows can refuse. A docstring says what happened; ``sentence`` is what people read."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


if TYPE_CHECKING:
    from workflows.engine.problems import Problem


class WorkflowsFault(Exception):
    """Something about workflows went wrong."""

    retryable = False
    sentence: str | Promise = _("Something about this workflow went wrong.")

    def __init__(self, sentence: str | Promise | None = None) -> None:
        self.message: str | Promise = sentence or type(self).sentence
        super().__init__(self.message)

    def __str__(self) -> str:
        return str(self.message)


class DocumentRefused(WorkflowsFault):
    """The document can't be read; ``problems`` says everything that is wrong with it."""

    sentence = _("This document can't be read as a workflow.")

    def __init__(self, problems: "Sequence[Problem]" = (), sentence: str | None = None) -> None:
        super().__init__(sentence)
        self.problems = tuple(problems)


class NewerDocument(WorkflowsFault):
    """The document was written by a newer version of the language; reading it needs a yes."""

    sentence = _("This document comes from a newer version. Confirm to import it anyway.")

    def __init__(self, version: str) -> None:
        super().__init__()
        self.version = version


class DraftInvalid(WorkflowsFault):
    """A draft with problems can't be published or run; ``problems`` says all of them."""

    sentence = _("The workflow has problems that must be solved first.")

    def __init__(self, problems: "Sequence[Problem]") -> None:
        super().__init__()
        self.problems = tuple(problems)


class NothingToPublish(WorkflowsFault):
    """The draft equals the published version."""

    sentence = _("Nothing has changed since the last version.")


class WorkflowArchived(WorkflowsFault):
    """The workflow is archived: it can be looked at and exported, nothing else."""

    sentence = _("This workflow is archived.")


class NameTaken(WorkflowsFault):
    """The team has something else by this name."""

    sentence = _("That name is taken already.")


class InvalidValue(WorkflowsFault):
    """A value given to a service breaks a rule; the sentence says which."""

    sentence = _("That value is not allowed.")


class NoSuchSample(WorkflowsFault):
    """There is no sample by this name."""

    sentence = _("There is no sample by this name.")


class ConversationElsewhere(WorkflowsFault):
    """The conversation belongs to another workflow or another person."""

    sentence = _("There is no such conversation here.")
