"""Print a link that signs in the owner of this site once. The first time, it makes the owner's account.

A public site gets its first account this way only: whoever opens its pages first is nobody special.
"""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import ProgrammingError

from accounts.services import prepare_first_run
from config.embedded.address import find_base_url
from config.env import env
from config.postgres.missing_tables import NO_TABLES, is_table_missing


class Command(BaseCommand):
    help = "Print a link that signs in the owner of this site once, within twelve hours."

    def add_arguments(self, parser: CommandParser) -> None:
        help_text = "address of the site, if it is neither PUBLIC_URL nor that of manage.py up, e.g. http://10.0.0.5:8000"
        parser.add_argument("--url", help=help_text)

    def handle(self, *args: Any, url: str | None, **options: Any) -> None:
        settings = env()
        base_url = url or settings.public_url or find_base_url(settings)
        try:
            path = prepare_first_run()
        except ProgrammingError as error:
            if not is_table_missing(error):
                raise
            raise CommandError(NO_TABLES) from None
        self.stdout.write(f"{base_url.rstrip('/')}{path}")
