"""Looking for a mistake: parts of runs, pinned outputs, pauses, and memory that is only tried out."""
