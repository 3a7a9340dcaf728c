"""What somebody can undo and redo, told from the log: it outlives the page and needs no place of its own."""

from collections.abc import Iterable
from dataclasses import dataclass

from workflows.models import Revision, Workflow
from workflows.models.editing import RevisionKind


DEEPEST = 1_000  # of one's own revisions; what lies further back is reached through the history


@dataclass(frozen=True, slots=True)
class Entry:
    number: int
    kind: str
    undoes: int | None
    label: str


@dataclass(frozen=True, slots=True)
class Stacks:
    """Numbers of revisions, the next one last."""

    done: tuple[Entry, ...] = ()
    undone: tuple[Entry, ...] = ()

    @property
    def undo_label(self) -> str | None:
        return self.done[-1].label if self.done else None

    @property
    def redo_label(self) -> str | None:
        return self.undone[-1].label if self.undone else None


def stacks_of(workflow: Workflow, actor: str) -> Stacks:
    rows = (
        Revision.objects.unscoped()
        .filter(workflow=workflow, actor=actor)
        .order_by("-number")
        .values_list("number", "kind", "undoes", "label")[:DEEPEST]
    )
    # The first row of a log is the draft as it was made; there is nothing before it.
    return stacked(Entry(*row) for row in reversed(list(rows)) if row[0] > 1)


def after_edit(revision: Revision) -> Stacks:
    """The tops of the stacks right after an edit, which needs no look at the log."""
    return Stacks(done=(Entry(revision.number, revision.kind, None, revision.label),))


def stacked(entries: Iterable[Entry]) -> Stacks:
    """An edit empties what could be redone; an undo takes from one stack to the other, a redo back."""
    done: list[Entry] = []
    undone: list[Entry] = []
    for entry in entries:
        if entry.kind == RevisionKind.EDIT:
            done.append(entry)
            undone.clear()
        elif entry.kind == RevisionKind.UNDO:
            done = [each for each in done if each.number != entry.undoes]
            undone.append(entry)
        else:
            undone = [each for each in undone if each.number != entry.undoes]
            done.append(entry)
    return Stacks(tuple(done), tuple(undone))
