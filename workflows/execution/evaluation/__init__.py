"""Evaluations: workers run the cases of a data set and score the answers."""
