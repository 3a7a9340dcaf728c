"""The worker of this process."""

from functools import cache

from workflows.execution.worker import Worker


@cache
def get_worker() -> Worker:
    return Worker()
