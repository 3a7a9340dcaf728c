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


class Serialization(MemoryFault):
    """The value is not JSON."""


class ProviderError(MemoryFault):
    """The store behind memory failed."""


class RetrievalError(MemoryFault):
    """Searching failed; what is stored is safe."""

    is_recoverable = True
