"""The pages of triggers."""
