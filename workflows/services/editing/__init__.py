"""Edits of a draft: one gesture is one transaction and one revision."""
