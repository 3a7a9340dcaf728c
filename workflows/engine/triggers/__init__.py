"""Workflows that start by themselves: the inputs that a trigger brings, and the times of a schedule."""
