"""A queue of jobs that one thread of a process carries out one after the other, so that slow jobs don't take all workers."""

import threading
from collections import deque
from collections.abc import Callable
from uuid import UUID


class JobQueue:
    """``carry_out`` takes the ids of a team and a job. It stores the outcome in the row and raises nothing."""

    def __init__(self, carry_out: Callable[[UUID, UUID], object]) -> None:
        self._carry_out = carry_out
        self._jobs: deque[tuple[UUID, UUID]] = deque()
        self._lock = threading.Lock()

    def run(self, team_id: UUID, job_id: UUID) -> int:
        """Queue the job, carry out all queued jobs and return their number.

        Return 0 if another thread of this process is already at work, because that thread takes this job as well.
        """
        self._jobs.append((team_id, job_id))
        count = 0
        # Check again after releasing the lock: another thread may have queued a job while the lock was held.
        while self._jobs and self._lock.acquire(blocking=False):
            try:
                while self._jobs:
                    self._carry_out(*self._jobs.popleft())
                    count += 1
            finally:
                self._lock.release()
        return count
