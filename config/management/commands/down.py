"""Stop the services that a killed start left running. Services in use are not stopped."""

from typing import Any

from django.core.management.base import BaseCommand

from config.embedded.session import Services, is_in_use
from config.env import env


class Command(BaseCommand):
    help = "Stop embedded services that are no longer in use (after a kill -9)."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        settings = env()
        if is_in_use(settings.mnemoflow_home):
            self.stderr.write("In use: stop `manage.py up` or the command that uses them first.")
            return
        Services.from_settings(settings).stop()
        self.stdout.write("No embedded services are running.")
