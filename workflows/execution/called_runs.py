"""Runs that a run starts by calling this installation from outside: by an address of its own, over whatever door.

Such a call has a signed mark with the start above the caller and the number of such calls in a row. The run that it starts
counts below that start, as a sub-workflow does: with its depth, its number, and the steps of all runs below the start.
Test cases are no runs: a run starts none of them that way, and what a case calls is counted with the case.
Of another team's runs only those of that team are counted together. What the call spends can't be told to the caller, so a
caller with a limit of tokens or money starts nothing that way.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from typing import Final, Self
from uuid import UUID

from django.core import signing
from django.utils.translation import gettext as _

from accounts.tenancy import tenant
from config.net import get_received_mark, mark_own_calls
from workflows.engine.errors import NestingNotAllowed
from workflows.engine.sub_workflows.children import MAX_DEPTH
from workflows.engine.sub_workflows.spending import Spending
from workflows.errors import CallNotAllowed
from workflows.execution.claims import Claim
from workflows.execution.ports.runs_below import check_start, find_counted_start
from workflows.execution.threads import run_in_thread
from workflows.models import Run


_SALT: Final = "workflows.called_runs"
_MAX_AGE: Final = 3600  # seconds that a call may take to arrive


@dataclass(frozen=True, slots=True)
class CallMark:
    """The start above a caller, the calls of this installation that led to it, and whether the caller's spending is limited."""

    start: str
    calls: int = 0
    is_limited: bool = False

    def sign(self) -> str:
        return signing.dumps(asdict(self), salt=_SALT)

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Return the mark, or None if it isn't one of this installation."""
        try:
            return cls(**signing.loads(text, salt=_SALT, max_age=_MAX_AGE))
        except (signing.BadSignature, TypeError):
            return None


async def build_call_mark(claim: Claim, spending: Spending) -> Callable[[], str]:
    """Return the function that builds the mark of a run's calls. What the run has left depends on the agent that calls."""
    is_start = claim.row["parent_id"] is None and not claim.row.get("called_by_start")
    start = str(claim.run_id) if is_start else await run_in_thread(_find_start, claim)
    calls = int(claim.row.get("calls_above") or 0)
    return lambda: CallMark(start, calls, bool(spending.get_left())).sign()


@asynccontextmanager
async def mark_calls(claim: Claim, spending: Spending) -> AsyncIterator[None]:
    """Mark the calls of this installation that the run makes in the block."""
    with mark_own_calls(await build_call_mark(claim, spending)):
        yield


def build_delivery_mark(run: Run) -> str:
    """Return the mark of a message about an ended run, which may start another run. Runs in the run's tenant."""
    return CallMark(find_counted_start(run.pk, run.called_by_start), run.calls_above).sign()


def build_case_mark(result_id: UUID) -> Callable[[], str]:
    """Return the function that builds the mark of the calls of a test case, which counts as a start."""
    return CallMark(str(result_id)).sign


def check_not_called() -> None:
    """Raise CallNotAllowed if a run calls this installation to start what isn't counted with its start."""
    if (text := get_received_mark()) and CallMark.read(text) is not None:
        raise CallNotAllowed(_("A run can't start test cases by calling this installation."))


def note_call(run: Run) -> None:
    """Note in a new run whose call starts it, if it is a call of this installation. Runs in the run's tenant.

    Raises CallNotAllowed beyond a limit of the start above the caller.
    """
    mark = CallMark.read(text) if (text := get_received_mark()) else None
    if mark is None:
        return
    if mark.is_limited:
        raise CallNotAllowed(
            _(
                "A run with a limit of tokens or money can't start another one by calling this installation. "
                "Use a sub-workflow, or the workflow as a tool."
            )
        )
    if mark.calls >= MAX_DEPTH:
        message = _(
            "Runs that call this installation can start one another at most %(count)s deep."
        )
        raise CallNotAllowed(message % {"count": MAX_DEPTH})
    try:
        check_start(mark.start, run.workflow.name)
    except NestingNotAllowed as fault:
        raise CallNotAllowed(str(fault)) from fault
    run.called_by_start, run.calls_above = UUID(mark.start), mark.calls + 1


def _find_start(claim: Claim) -> str:
    with tenant([claim.team_id]):
        return find_counted_start(claim.run_id, claim.row.get("called_by_start"))
