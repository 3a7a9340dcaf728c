"""Creates a workflow from a document and prints what it wants that this installation or the team lacks."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.errors import NotAllowed
from workflows.engine.errors import DocumentInvalid
from workflows.engine.language.problems import select_errors
from workflows.errors import NewerDocument, WorkflowFault
from workflows.execution.kinds import load_kinds
from workflows.management.members import find_member, find_team
from workflows.management.report_text import format_report, serialize_report
from workflows.services.catalog.import_reports import report_workflow
from workflows.services.catalog.importing import import_document
from workflows.services.editor.drafts import load_draft
from workflows.templatetags.problems import list_titles


class Command(BaseCommand):
    help = "Create a workflow from a document and print what it lacks here."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--as", default="", dest="email", metavar="EMAIL")
        parser.add_argument("--team", default="", metavar="NAME", help="default: the first team")
        parser.add_argument("--name", help="default: the name in the document")
        parser.add_argument(
            "--newer", action="store_true", help="import a document of a newer version, too"
        )
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *args: Any, **options: Any) -> None:
        principal = find_member(options["email"])
        try:
            imported = import_document(
                principal,
                team_id=find_team(principal, options["team"]),
                source=options["file"].read_bytes(),
                name=options["name"],
                confirm_newer=options["newer"],
            )
        except OSError as error:
            raise CommandError(f"{options['file']} can't be read: {error}") from error
        except DocumentInvalid as invalid:
            raise CommandError("\n".join(map(str, select_errors(invalid.problems)))) from invalid
        except NewerDocument as newer:
            raise CommandError(f"{newer} Use --newer to import it anyway.") from newer
        except (NotAllowed, WorkflowFault) as fault:
            raise CommandError(str(fault)) from fault
        workflow, as_json = imported.workflow, options["as_json"]
        report = report_workflow(principal, workflow)
        if as_json:
            tree = {"workflow": str(workflow.pk), "name": workflow.name, **serialize_report(report)}
            self.stdout.write(json.dumps(tree, ensure_ascii=False))
            return
        self.stdout.write(f"Created {workflow.name} ({workflow.pk})")
        titles = list_titles(load_draft(workflow), load_kinds())
        for line in format_report(report, titles, imported.warnings):
            self.stdout.write(line)
