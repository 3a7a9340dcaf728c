"""Ends what a killed start left running. Nothing that somebody uses is touched."""

from typing import Any

from django.core.management.base import BaseCommand

from config.embedded.session import Services, in_use
from config.env import env


class Command(BaseCommand):
    help = "Stop embedded services that nobody uses any more (after a kill -9)."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        settings = env()
        if in_use(settings.mnemoflow_home):
            self.stderr.write("In use: end `manage.py up` or the command that uses them first.")
            return
        Services.of(settings).stop()
        self.stdout.write("Nothing of ours is running now.")
