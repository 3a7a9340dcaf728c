"""What a chat says when a run came to no good end: a plain sentence; the run itself has the details."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.principals import Principal
from workflows import selectors
from workflows.models import Run
from workflows.models.run import RunStatus


def told(run: Run, *, can_edit: bool, titles: Mapping[UUID, str]) -> str:
    """Who can't mend the workflow isn't troubled with the names of its nodes."""
    words = sentences(can_edit=can_edit)
    if run.status == RunStatus.STOPPED:
        return words["stopped"]
    title = titles.get(run.pk)
    return words["failed_at"].replace("{node}", title) if title else words["failed"]


def sentences(*, can_edit: bool) -> dict[str, str]:
    """For the page, which tells the end of a live run itself; ``{node}`` is its to fill in."""
    ends = {
        "stopped": _("This reply was stopped."),
        "nothing": _("No reply: no Answer node was reached, or its answer was empty."),
    }
    if not can_edit:
        sorry = _("Something went wrong. Please try again.")
        return ends | {"failed": sorry, "failed_at": sorry}
    return ends | {
        "failed": _("The run failed. Select “Why?” below for details."),
        "failed_at": _("The run failed at “{node}”. Select “Why?” below for details."),
    }


def titles_of(principal: Principal, runs: Iterable[Run]) -> dict[UUID, str]:
    """Run → what people call the node it failed at."""
    failed = {run.pk: run.error_node for run in runs if run.has_ended and run.error_node}
    if not failed:
        return {}
    found = {
        (run_id, key): title for run_id, key, title in selectors.step_titles(principal, failed)
    }
    return {run: found.get((run, node)) or node for run, node in failed.items()}
