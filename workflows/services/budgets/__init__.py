"""Budgets: what a team and each of its API keys may use per day and at the same time, checked when a run starts."""
