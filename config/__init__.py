"""Wiring: how the process is put together."""
