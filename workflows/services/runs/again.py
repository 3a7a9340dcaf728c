"""Run again: a new run with the inputs of an earlier one, of the workflow as it is now."""

from collections.abc import Mapping

from accounts.access import Principal
from accounts.personas import strip_player
from accounts.tenancy import reading
from workflows import permissions
from workflows.engine.language.document import Json
from workflows.engine.triggers.calls import TriggerCall
from workflows.execution.debugging.reused_steps import load_redactor
from workflows.execution.journal.mocks import restore_mocks
from workflows.execution.ports.client_calls import ClientCall
from workflows.models import Run
from workflows.services.runs.memory_streams import MemoryStream
from workflows.services.runs.runs import InputMarks, VersionChoice, start_run


def run_again(principal: Principal, run: Run) -> Run:
    """Start a run with the inputs, message, conversation and pinned outputs of a run that the principal may see.

    A run of the draft uses the current draft, any other run the published version. It is for the same person; an external
    user whom an API client named becomes a test user of the member. Inputs that came from outside keep their mark.
    """
    permissions.check_view_run(principal, run)
    version: VersionChoice = "published" if run.version_id else "draft"
    query = run.system.get("query")
    return start_run(
        principal,
        workflow=run.workflow,
        subject=None if run.subject_user_id == principal.user_id else _get_subject(run),
        version=version if run.version_id is None or run.workflow.published_version_id else None,
        inputs=run.inputs,
        query=str(query) if query is not None else None,
        files=run.system.get("files") or (),
        conversation=run.conversation.key if run.conversation else None,
        client_call=ClientCall.from_json(run.client_call),
        mocks=_load_mocks(run),
        offline=run.offline,
        stream=MemoryStream(run.system.get("group_id")),
        trigger=TriggerCall.from_system_variables(run.system),
        marks=InputMarks.of(run),
    )


def _load_mocks(run: Run) -> Mapping[str, Json] | None:
    """Return the mocks with their secrets, whose masks differ from run to run."""
    if not run.mocks:
        return None
    with reading([run.team_id]):
        return restore_mocks(run.mocks, load_redactor(run))


def _get_subject(run: Run) -> str:
    return strip_player(run.subject)
