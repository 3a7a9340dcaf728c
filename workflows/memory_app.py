"""Memory's façade for workflows, which work without memory too.

With ``MEMORY_ENABLED=0`` memory can't be imported. Each name of ``memory.public`` is therefore looked up
when it is used, not when this module is imported. Callers check ``is_on`` first.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from django.conf import settings


class MemoryIsOff(RuntimeError):
    """A name of memory was used although memory is switched off."""


def is_on() -> bool:
    return bool(settings.MEMORY_ENABLED)


def offers_nodes() -> bool:
    """Return whether memory's node kinds are offered; memory can be on without them."""
    return bool(settings.MEMORY_NODES_ENABLED)


if TYPE_CHECKING:
    from memory.public import *  # noqa: F403 - all of them: each name is listed there only
else:

    def __getattr__(name):
        """Look up a name of ``memory.public``. Raise ``MemoryIsOff`` if memory is switched off."""
        if name.startswith("__"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if not is_on():
            raise MemoryIsOff(f"memory.public.{name} needs memory, but MEMORY_ENABLED is off.")
        return getattr(import_module("memory.public"), name)
