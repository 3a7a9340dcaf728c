"""Usage: the definitions of its numbers, and the counting of runs that have ended."""
