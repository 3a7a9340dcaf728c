"""The memory of another installation of Mnemoflow, over its API, with a key that has ``memory:serve``."""

from memory.providers.http.provider import HttpProvider


__all__ = ["HttpProvider"]
