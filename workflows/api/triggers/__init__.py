"""The routes of triggers."""
