"""Builds libpq's connection string, for connections that Django doesn't manage."""

from django.db import DEFAULT_DB_ALIAS, connections
from psycopg.conninfo import make_conninfo


_OPTIONS = frozenset({"sslmode", "sslrootcert", "sslcert", "sslkey", "options", "connect_timeout"})


def build_conninfo(alias: str = DEFAULT_DB_ALIAS) -> str:
    """Build libpq's connection string from Django's database settings."""
    config = connections[alias].settings_dict
    parameters = {
        "dbname": config["NAME"],
        "user": config["USER"],
        "password": config["PASSWORD"],
        "host": config["HOST"],
        "port": config["PORT"],
        **{key: value for key, value in config.get("OPTIONS", {}).items() if key in _OPTIONS},
    }
    return make_conninfo("", **{key: value for key, value in parameters.items() if value})
