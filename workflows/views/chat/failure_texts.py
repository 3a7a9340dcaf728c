"""The chat's texts for runs that failed or were stopped; the run itself has the details."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.principals import Principal
from workflows import selectors
from workflows.llm.failure_messages import is_about_connection
from workflows.models import Run
from workflows.models.run import RunStatus
from workflows.templatetags.run_errors import translate_error


# The errors of nodes that want what this installation lacks: a tool, or a whole node type.
_LACKING: Final = re.compile(r"^The tool .+ isn't connected|: this installation has no node type ")


def describe_failure(run: Run, *, can_edit: bool, titles: Mapping[UUID, str]) -> str:
    """Describe the failure of a run; only people who can edit the workflow see the node's name and the error."""
    texts = list_failure_texts(can_edit=can_edit)
    if run.status == RunStatus.STOPPED:
        return texts["stopped"]
    if not can_edit:
        return texts["needs_model"] if run.lacks_model else texts["failed"]
    error, title = translate_error(run.error), titles.get(run.pk)
    return f"{title}: {name_node(error, run.error_node, title)}" if title else error


def name_node(error: str, node: str, title: str) -> str:
    """Return the error with the node's title in place of its id, as ``static/js/runs/stream.js`` has it."""
    return re.sub(
        rf"(?<![\w.]){re.escape(node)}\.(?=[A-Za-z_])", lambda _match: f"{title} › ", error
    )


@dataclass(frozen=True, slots=True)
class Remedy:
    """These are offered below a failed answer: to send the message again, and the page that leads on: where models are
    connected, or what the workflow wants and this installation lacks.
    """

    query: str
    opens_models: bool
    workflow_id: UUID
    opens_requirements: bool = False


def find_remedy(run: Run, *, can_edit: bool) -> Remedy | None:
    """Return what is offered to the sender of the message, or None if its run has not failed."""
    query = str(run.system.get("query", ""))
    if run.status != RunStatus.FAILED or not query:
        return None
    return Remedy(
        query,
        opens_models=can_edit and (run.lacks_model or is_about_connection(run.error)),
        workflow_id=run.workflow_id,
        opens_requirements=can_edit and _LACKING.search(run.error) is not None,
    )


def list_failure_texts(*, can_edit: bool) -> dict[str, str]:
    """Return the texts by their names. Without ``failed``, the page reports the error of a live run itself."""
    texts = {
        "stopped": _("This reply was stopped."),
        "needs_model": _("This task needs a language model."),
        "empty": _("The answer was empty."),
    }
    if can_edit:
        return texts | {"nothing": _("No reply: no Answer node was reached.")}
    return texts | {
        "nothing": _("There was no reply."),
        "failed": _("Something went wrong. Please try again."),
    }


def describe_no_answer(run: Run, texts: Mapping[str, str]) -> str:
    """Return what stands in place of an answer without text: that it was empty, or that there was none."""
    return texts["empty" if "answer" in (run.outputs or {}) else "nothing"]


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
