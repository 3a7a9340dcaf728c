"""Nodes whose kind is missing: placeholders for them, what other nodes read from them, and their replacement."""
