#!/usr/bin/env python
"""The one command line: Django's, with the embedded services started when a command needs them."""

import gc
import os
import sys


def main(argv: list[str]) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        # Inline imports: a missing virtual environment deserves a sentence, not a traceback.
        from django.core.management import execute_from_command_line

        from config.embedded.session import run_services_for_command
        from config.interpreter.data_stack import call_with_room
    except ModuleNotFoundError as error:
        sys.exit(f"{error}. Run `make setup`, then use .venv/bin/python manage.py …")

    # Models and schemas are made once and kept: looking among them for garbage took a fifth of each command's start.
    gc.set_threshold(20_000, 10, 20)
    with run_services_for_command(argv):
        call_with_room(execute_from_command_line, argv)


if __name__ == "__main__":
    main(sys.argv)
