"""Errors of memory. ``is_recoverable`` says whether a caller can go on without memory."""


class MemoryFault(Exception):
    """Memory failed."""

    is_recoverable = False


class NotFound(MemoryFault):
    """Memory not found."""

    is_recoverable = True


class AlreadyExists(MemoryFault):
    """A memory with this key already exists."""


class AccessDenied(MemoryFault):
    """You don't have access to this memory."""


class QuotaExceeded(MemoryFault):
    """The namespace is full, or the value is too large."""


class ValueTooLarge(QuotaExceeded):
    """The value is too large."""


class InvalidInput(MemoryFault):
    """The request is invalid; the message names the parameter."""


class NotAdmitted(InvalidInput):
    """The content filter rejected the entry."""

    is_recoverable = True

    def __init__(self, message: str = "", reasons: tuple[str, ...] = ()) -> None:
        self.reasons = reasons  # the names of the rules that objected
        super().__init__(message)


class Serialization(MemoryFault):
    """The value is not JSON."""


class ProviderError(MemoryFault):
    """The memory provider failed."""

    retryable = False

    def __init__(self, message: str = "", *, retryable: bool | None = None) -> None:
        if retryable is not None:
            self.retryable = retryable
        super().__init__(message)


class ProviderAway(ProviderError):
    """The memory provider can't be reached."""

    retryable = True
    retry_after = 2  # seconds


class RetrievalError(MemoryFault):
    """The search failed; stored entries are safe."""

    is_recoverable = True
