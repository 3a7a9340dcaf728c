"""The chat's texts for runs that failed or were stopped; the run itself has the details."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.principals import Principal
from workflows import selectors
from workflows.models import Run
from workflows.models.run import RunStatus


def describe_failure(run: Run, *, can_edit: bool, titles: Mapping[UUID, str]) -> str:
    """Describe the failure of a run; only people who can edit the workflow see the node's name."""
    texts = list_failure_texts(can_edit=can_edit)
    if run.status == RunStatus.STOPPED:
        return texts["stopped"]
    if run.lacks_model:
        return texts["needs_model"]
    title = titles.get(run.pk)
    return texts["failed_at"].replace("{node}", title) if title else texts["failed"]


def list_failure_texts(*, can_edit: bool) -> dict[str, str]:
    """Return the texts by their names; the page, which reports the end of a live run, fills in ``{node}``."""
    texts = {
        "stopped": _("This reply was stopped."),
        "needs_model": _("This task needs a language model, and none is connected."),
        "nothing": _("No reply: no Answer node was reached, or its answer was empty."),
    }
    if not can_edit:
        apology = _("Something went wrong. Please try again.")
        return texts | {"failed": apology, "failed_at": apology}
    return texts | {
        "failed": _("The run failed. Select “Why?” below for details."),
        "failed_at": _("The run failed at “{node}”. Select “Why?” below for details."),
    }


def load_failed_titles(principal: Principal, runs: Iterable[Run]) -> dict[UUID, str]:
    """Return the title of each run's failed node by the run's id."""
    failed_nodes = {run.pk: run.error_node for run in runs if run.has_ended and run.error_node}
    if not failed_nodes:
        return {}
    titles = {
        (run_id, node): title
        for run_id, node, title in selectors.list_step_titles(principal, failed_nodes)
    }
    return {run_id: titles.get((run_id, node)) or node for run_id, node in failed_nodes.items()}
