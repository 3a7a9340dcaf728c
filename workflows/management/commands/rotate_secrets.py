"""Re-encrypts every stored secret under the newest key of SECRET_KEYS_AT_REST."""

from typing import Any

from django.core.management.base import BaseCommand

from accounts.models import Team
from workflows.services.credentials import rotate_secrets


class Command(BaseCommand):
    help = "Re-encrypt every stored secret under the first key of SECRET_KEYS_AT_REST."

    def handle(self, *args: Any, **options: Any) -> None:
        count = rotate_secrets(Team.objects.values_list("pk", flat=True))
        secrets = "secret" if count == 1 else "secrets"
        self.stdout.write(f"{count} {secrets} re-encrypted under the newest key.")
