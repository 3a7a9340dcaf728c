"""What can go wrong with memory. ``is_recoverable`` says whether going on without it makes sense."""


class MemoryError(Exception):  # noqa: A001 - the word of every design this merges; never imported unqualified
    """Memory failed."""

    is_recoverable = False


class NotFound(MemoryError):
    """There is no such memory."""

    is_recoverable = True


class AlreadyExists(MemoryError):
    """Something is already remembered under that key."""


class AccessDenied(MemoryError):
    """That memory is not yours to touch."""


class QuotaExceeded(MemoryError):
    """The namespace is full, or the value too large."""


class InvalidInput(MemoryError):
    """The request makes no sense; the message names the parameter."""


class Serialization(MemoryError):
    """The value is not JSON."""


class ProviderError(MemoryError):
    """The store behind memory failed."""


class RetrievalError(MemoryError):
    """Searching failed; what is stored is safe."""

    is_recoverable = True
