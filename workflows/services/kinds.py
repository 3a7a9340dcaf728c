"""The node kinds of this installation, for whoever stands above the execution."""

from workflows.execution.kinds import load_kinds as installed_kinds


__all__ = ["installed_kinds"]
