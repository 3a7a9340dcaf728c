"""Run the tests in phases, and try the few that failed once more, each alone: `make test`."""
