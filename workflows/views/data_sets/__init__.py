"""The pages of data sets and evaluations."""
