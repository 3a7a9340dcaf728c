"""The relatives of a run that ends without a worker: its parent goes on, and its children are stopped."""

from django.db import connection, transaction

from workflows.models import Run
from workflows.tasks import wake_worker


def lock_parent(run: Run) -> None:
    """Lock the parent, if there is one, before the run itself is locked; see execution/sql/children.sql."""
    if run.parent_id is not None:
        _call("execution_lock_parent", run)


def settle_relatives(run: Run) -> None:
    """Stop the children of a run that has just ended, and continue its parent. The caller has locked the parent."""
    _call("execution_stop_children", run)
    parent_id = run.parent_id
    if parent_id is not None:
        _call("execution_wake_parent", run)
        transaction.on_commit(lambda: wake_worker(parent_id))


def _call(function: str, run: Run) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"select {function}(%s, %s)", [run.team_id, run.pk])
