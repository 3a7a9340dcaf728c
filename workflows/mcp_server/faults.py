"""The texts of errors that a client may read: those of our own errors. What else goes wrong is only logged."""

from django.utils.translation import gettext as _

from accounts.errors import AccountsFault
from workflows import memory_app
from workflows.engine.errors import EngineFault
from workflows.errors import WorkflowFault


def describe_fault(error: Exception) -> str | None:
    """Return the text of one of our own errors with all its problems, or None for any other error."""
    own: tuple[type[Exception], ...] = (AccountsFault, EngineFault, WorkflowFault)
    if memory_app.is_on():
        own = (*own, memory_app.MemoryFault)
    if not isinstance(error, own):
        return None
    problems = [str(problem.message) for problem in getattr(error, "problems", ())]
    return "; ".join(problems) or str(error) or _("This can't be done.")
