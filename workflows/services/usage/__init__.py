"""Reports of usage: totals, days, and breakdowns by workflow, API key, person, channel and model."""
