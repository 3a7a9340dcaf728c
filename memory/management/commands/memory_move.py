"""Moves the entries that MEMORY_PLACES would hide to the provider where it looks for them."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser

from memory.core.errors import MemoryFault
from memory.services.transfer.moving import (
    MisplacedNamespace,
    give_up_namespace,
    list_hidden_namespaces,
    move_namespace,
)


class Command(BaseCommand):
    help = "Move the memory that MEMORY_PLACES would hide to where it looks. Stop the site first."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--give-up",
            action="store_true",
            help="look no longer for entries whose provider can't be reached",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        hidden_namespaces = list_hidden_namespaces()
        if not hidden_namespaces:
            self.stdout.write("Nothing to move.")
        for namespace in hidden_namespaces:
            label = f"{namespace.row.text}: from {namespace.provider} to {namespace.expected}"
            if namespace.count is None and options["give_up"]:
                give_up_namespace(namespace)
                self.stdout.write(f"{namespace.row.text}: given up in {namespace.provider}")
            else:
                self.stdout.write(f"{label}: {self._move(namespace)} entries")

    def _move(self, namespace: MisplacedNamespace) -> int:
        try:
            return move_namespace(namespace)
        except (ImproperlyConfigured, MemoryFault) as error:
            raise CommandError(
                f"{namespace.row.text}: {error} Bring it back, or give up what it has with --give-up."
            ) from error
