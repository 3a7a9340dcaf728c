"""Writes the draft of a workflow as a document, to a file or to the terminal. Secrets are left out."""

from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.errors import NotAllowed, NotFound
from accounts.tenancy import tenant
from workflows import selectors
from workflows.engine.language.document import Dialect
from workflows.management.members import find_member
from workflows.services.editor import drafts


class Command(BaseCommand):
    help = "Write a workflow's draft as a document."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("workflow", metavar="WORKFLOW", type=UUID, help="workflow ID")
        parser.add_argument("--as", default="", dest="email", metavar="EMAIL")
        parser.add_argument(
            "--dialect", choices=[*map(str, Dialect)], help="default: the draft's own"
        )
        parser.add_argument("--format", choices=("yaml", "json"), default="yaml")
        parser.add_argument("--output", type=Path, metavar="FILE", help="default: the terminal")

    def handle(self, *args: Any, **options: Any) -> None:
        principal = find_member(options["email"])
        dialect = Dialect(options["dialect"]) if options["dialect"] else None
        try:
            with tenant(principal.team_ids):
                workflow = selectors.find_workflow(principal, options["workflow"])
            text = drafts.export(
                principal, workflow=workflow, dialect=dialect, format=options["format"]
            )
        except (NotFound, NotAllowed) as error:
            raise CommandError("There is no such workflow, or you may not see it.") from error
        if options["output"] is None:
            self.stdout.write(text)
            return
        try:
            options["output"].write_text(text, encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{options['output']} can't be written: {error}") from error
