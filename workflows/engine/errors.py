"""The errors of a workflow.

A fail branch receives a fault's ``error_type``; ``retryable`` says whether a retry may succeed.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workflows.engine.language.problems import Problem


class EngineFault(Exception):
    """The workflow failed."""

    retryable = False
    retry_after: float | None = None  # seconds that the server asked to wait before a retry

    def __init__(self, message: str = "", *, retryable: bool | None = None) -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())
        if retryable is not None:
            self.retryable = retryable

    @property
    def message(self) -> str:
        return str(self.args[0])

    @property
    def error_type(self) -> str:
        return type(self).__name__


class DocumentInvalid(EngineFault):
    """The document can't be used. With ``titles`` the message names nodes by their title and not by their id."""

    def __init__(
        self, problems: Iterable[Problem], titles: Mapping[str, str] | None = None
    ) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        self.titles: Mapping[str, str] = titles or {}
        super().__init__("; ".join(self._describe(problem) for problem in self.problems))

    def _describe(self, problem: Problem) -> str:
        title = self.titles.get(problem.node or "")
        return f"{title}: {problem.message}" if title else str(problem)


class DocumentTooLarge(DocumentInvalid):
    """The document has more bytes than a document may have."""


class InputRejected(EngineFault):
    """The inputs don't fit the start form."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__("; ".join(problem.message for problem in self.problems))


class NodeFailed(EngineFault):
    """The node failed."""

    def __init__(self, error_type: str, message: str, *, retryable: bool = False) -> None:
        super().__init__(message, retryable=retryable)
        self._error_type = error_type

    @property
    def error_type(self) -> str:
        return self._error_type


class NodeUnavailable(EngineFault):
    """This installation has no such node type."""


class VariableNotFound(EngineFault):
    """The variable doesn't exist (yet)."""

    def __init__(self, selector: Sequence[str]) -> None:
        self.selector = tuple(selector)
        super().__init__(f"Variable {'.'.join(self.selector)} not found")


class ValueMismatch(EngineFault):
    """The value isn't of the type it should be."""


class ConditionInvalid(EngineFault):
    """The condition can't be decided for this value. Of a condition in a document, ``path`` is the part that is wrong."""

    def __init__(self, message: str = "", path: tuple[int | str, ...] = ()) -> None:
        super().__init__(message)
        self.path = path


class OperationInvalid(EngineFault):
    """The operation doesn't fit the variable or its input."""


class ModelFailed(EngineFault):
    """The model did not respond."""

    # The ``ports.ModelSource`` of the model that was asked, if it is known.
    source: Any = None

    def __init__(
        self, message: str = "", *, retryable: bool = False, status: int | None = None
    ) -> None:
        super().__init__(message, retryable=retryable)
        self.status = status


class UnofferedToolCall(ModelFailed):
    """The model called a tool, although the request offered none."""

    @property
    def error_type(self) -> str:
        return ModelFailed.__name__


class ModelNeeded(ModelFailed):
    """This task needs a language model. Connect one under Models."""

    # The begin of the message of every such failure; the rest says what to do about it.
    reason = "This task needs a language model."


class RerankUnavailable(ModelFailed):
    """The reranking model is not connected."""


class TemplateFailed(EngineFault):
    """The template couldn't be rendered."""


class CodeFailed(EngineFault):
    """The code raised an error."""


class HttpFailed(EngineFault):
    """The request got no response."""

    retryable = True


class HTTPResponseCodeError(EngineFault):
    """The server responded with an error status."""

    retryable = True


class FileUnavailable(EngineFault):
    """The content of a file can't be read or stored."""


class DocumentUnreadable(EngineFault):
    """No text can be taken out of the document."""


class ToolFailed(EngineFault):
    """The tool does not exist, or could not be called."""

    def __init__(
        self, message: str, *, retryable: bool = False, retry_after: float | None = None
    ) -> None:
        self.retryable, self.retry_after = retryable, retry_after
        super().__init__(message)


class ToolMissing(ToolFailed):
    """This installation or team does not have the tool."""


class SubWorkflowFailed(EngineFault):
    """The sub-workflow failed."""

    retryable = True


class SubWorkflowUnavailable(EngineFault):
    """The sub-workflow does not exist, is not published, or may not be run."""


class NestingNotAllowed(EngineFault):
    """Workflows are nested too deep, or in a circle."""


class MemoryUnavailable(EngineFault):
    """No memory provider is configured."""


class PortMissing(EngineFault):
    """The node needs a port that the runner does not have."""

    def __init__(self, port: str) -> None:
        self.port = port
        super().__init__(f"This runner has no {port} port")


class NodeTimedOut(EngineFault):
    """The node exceeded its time limit."""

    retryable = True


class RunTimedOut(EngineFault):
    """The run exceeded its time limit."""


class LimitReached(EngineFault):
    """The run exceeded one of its limits."""


class RunStopped(EngineFault):
    """The run was stopped."""
