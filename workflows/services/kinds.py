"""The installed node kinds, re-exported for the layers above ``workflows.execution``."""

from workflows.execution.kinds import load_kinds as installed_kinds


__all__ = ["installed_kinds"]
