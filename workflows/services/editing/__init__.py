"""Edits of a draft: one gesture is one transaction and one revision. Import the modules from here."""
