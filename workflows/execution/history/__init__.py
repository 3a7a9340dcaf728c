"""The history of runs: how long it is stored, and what it needs on disk."""
