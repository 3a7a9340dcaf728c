"""What can go wrong with memory. ``is_recoverable`` says whether going on without it makes sense."""


class MemoryFault(Exception):
    """Memory failed."""

    is_recoverable = False


class NotFound(MemoryFault):
    """There is no such memory."""

    is_recoverable = True


class AlreadyExists(MemoryFault):
    """Something is already remembered under that key."""


class AccessDenied(MemoryFault):
    """That memory is not yours to touch."""


class QuotaExceeded(MemoryFault):
    """The namespace is full, or the value too large."""


class ValueTooLarge(QuotaExceeded):
    """The value is larger than one may be."""


class InvalidInput(MemoryFault):
    """The request makes no sense; the message names the parameter."""


class NotAdmitted(InvalidInput):
    """The gate before working memory did not let it in."""

    is_recoverable = True

    def __init__(self, message: str = "", reasons: tuple[str, ...] = ()) -> None:
        self.reasons = reasons  # the names of the rules that objected
        super().__init__(message)


class Serialization(MemoryFault):
    """The value is not JSON."""


class ProviderError(MemoryFault):
    """The store behind memory failed."""


class RetrievalError(MemoryFault):
    """Searching failed; what is stored is safe."""

    is_recoverable = True
