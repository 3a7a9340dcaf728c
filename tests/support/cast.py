"""The cast."""
