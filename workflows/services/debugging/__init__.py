"""Debugging: partial runs, pinned outputs, pauses, and memory changes that are only previewed."""
