"""`python -m tests.phases.start_servers` starts the servers of the run whose home folder the environment names."""

import os

import django


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()

    from tests.support.servers import start_postgres, start_valkey

    start_valkey()
    start_postgres()
