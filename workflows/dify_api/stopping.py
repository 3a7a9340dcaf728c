"""Stops tasks. A foreign one is left alone, with the answer that Dify gives, and the attempt is recorded."""

from typing import Final

from workflows.dify_api.apps import App
from workflows.services.runs.runs import cancel_run


DONE: Final = {"result": "success"}


def stop_task(app: App, task_id: str, user: str) -> dict[str, str]:
    """Stop the person's task if it is running. The answer doesn't tell whether there was one."""
    subject = app.find_subject(user)
    run = app.find_run(task_id)
    if run is None or run.subject != subject.id:
        app.record_refusal("run.cancel", "run", task_id)
        return DONE
    cancel_run(app.principal, run)
    return DONE
