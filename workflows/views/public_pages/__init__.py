"""Public pages, with which people without an account use a workflow."""
