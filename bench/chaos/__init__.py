"""Kills and restarts of workers, PostgreSQL and the broker while runs are executed; see ``__main__``."""
