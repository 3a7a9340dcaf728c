"""How workflows do: usage per day, feedback on answers, and data sets with their evaluations."""
