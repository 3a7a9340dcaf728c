"""`python -m tests.phases.stop_servers` ends the servers of the run whose home folder the environment names."""

import os

import django


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()

    from tests.support.servers import stop_servers

    stop_servers()
