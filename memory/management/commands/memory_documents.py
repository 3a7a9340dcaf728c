"""Adds documents to a knowledge base in the name of a member, and reads them at once."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import Team, User
from accounts.principals import load_user_principal
from memory.core.errors import MemoryFault
from memory.models.jobs import JobStatus
from memory.services.documents.reading import get_document
from memory.services.documents.uploading import upload_document
from memory.services.documents.worker import carry_out_document
from memory.services.gateway.caller import MemoryCaller


class Command(BaseCommand):
    help = "Add documents to a knowledge base. A file with the name of a document replaces it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("team", metavar="TEAM", help="short name of the team")
        parser.add_argument("namespace", metavar="NAMESPACE", help="such as global:handbook")
        parser.add_argument("paths", metavar="PATH", type=Path, nargs="+", help="files, or folders")
        parser.add_argument(
            "--as",
            dest="email",
            required=True,
            metavar="EMAIL",
            help="email of the member to act as",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        team = Team.objects.filter(slug=options["team"]).first()
        user = User.objects.filter(email__iexact=options["email"], is_active=True).first()
        principal = load_user_principal(user) if user else None
        if team is None or principal is None or team.pk not in principal.team_ids:
            raise CommandError("Team or member not found.", returncode=2)
        caller = MemoryCaller(principal, team.pk)
        results = [
            self._add(caller, options["namespace"], path) for path in _list_files(options["paths"])
        ]
        if not all(results):
            raise SystemExit(1)

    def _add(self, caller: MemoryCaller, namespace: str, path: Path) -> bool:
        """Add the file, print what became of it, and return whether its pages are there."""
        try:
            result = upload_document(
                caller, namespace=namespace, name=path.name, content=path.read_bytes()
            )
        except (OSError, MemoryFault) as error:
            self.stderr.write(f"{path}: {error}")
            return False
        if result.upload is None:
            self.stdout.write(f"{path}: unchanged")
            return True
        carry_out_document(caller.team_id, result.upload.pk)
        document = get_document(caller, upload_id=result.upload.pk)
        if document.upload.status == JobStatus.FAILED:
            self.stderr.write(f"{path}: {document.upload.problem}")
            return False
        note = f" ({document.upload.problem})" if document.upload.problem else ""
        self.stdout.write(f"{path}: {result.outcome}, {document.page_count} pages{note}")
        return True


def _list_files(paths: list[Path]) -> list[Path]:
    """Return the files, and those in the folders, in the order of their names."""
    files: list[Path] = []
    for path in paths:
        files += (
            sorted(item for item in path.rglob("*") if item.is_file()) if path.is_dir() else [path]
        )
    return files
