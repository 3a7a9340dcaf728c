"""The installed node kinds, re-exported for the layers above ``workflows.execution``."""

from workflows.execution.kinds import load_kinds


__all__ = ["load_kinds"]
