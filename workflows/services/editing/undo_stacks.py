"""Undo and redo stacks, built from the log, so that they outlive the page and need no separate table."""

from collections.abc import Iterable
from dataclasses import dataclass

from workflows.models import Revision, Workflow
from workflows.models.editing import RevisionKind


# Older states can be restored from the history.
MAX_REVISIONS = 1_000


@dataclass(frozen=True, slots=True)
class StackEntry:
    """A revision on a stack; ``undoes`` is the number of the revision that it reverts."""

    number: int
    kind: str
    undoes: int | None
    label: str


@dataclass(frozen=True, slots=True)
class UndoStacks:
    """The revisions that can be undone and redone, the next one last."""

    undoable: tuple[StackEntry, ...] = ()
    redoable: tuple[StackEntry, ...] = ()

    @property
    def undo_label(self) -> str | None:
        return self.undoable[-1].label if self.undoable else None

    @property
    def redo_label(self) -> str | None:
        return self.redoable[-1].label if self.redoable else None


def build_stacks(workflow: Workflow, actor: str) -> UndoStacks:
    """Return the stacks of the actor's own revisions, built from the newest MAX_REVISIONS of them."""
    rows = (
        Revision.objects.unscoped()
        .filter(workflow=workflow, actor=actor)
        .order_by("-number")
        .values_list("number", "kind", "undoes", "label")[:MAX_REVISIONS]
    )
    # The first row of a log is the created draft, which cannot be undone.
    return replay_entries(StackEntry(*row) for row in reversed(list(rows)) if row[0] > 1)


def build_stacks_after_edit(revision: Revision) -> UndoStacks:
    """Return stacks with only their top entries right after an edit, without reading the log."""
    return UndoStacks(undoable=(StackEntry(revision.number, revision.kind, None, revision.label),))


def replay_entries(entries: Iterable[StackEntry]) -> UndoStacks:
    """Return the stacks that result from these revisions, oldest first.

    An edit empties the redo stack. An undo moves an entry from the undo stack to the redo stack, and a redo moves it
    back.
    """
    undoable: list[StackEntry] = []
    redoable: list[StackEntry] = []
    for entry in entries:
        if entry.kind == RevisionKind.EDIT:
            undoable.append(entry)
            redoable.clear()
        elif entry.kind == RevisionKind.UNDO:
            undoable = [candidate for candidate in undoable if candidate.number != entry.undoes]
            redoable.append(entry)
        else:
            redoable = [candidate for candidate in redoable if candidate.number != entry.undoes]
            undoable.append(entry)
    return UndoStacks(tuple(undoable), tuple(redoable))
