"""Shows how many memories are embedded, and on request embeds the waiting ones or all of them again."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import Team
from memory.embedding import vector_column
from memory.embedding.embedders import get_embedder
from memory.services.recall.embedding_status import load_embedding_state
from memory.upkeep.embedding import embed_team, enqueue_all, enqueue_outdated, reset_checks


class Command(BaseCommand):
    help = "Show how many memories are embedded for semantic search; embed the pending ones (--now) or all of them again (--again)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "team", nargs="?", metavar="TEAM", help="short name; all teams if omitted"
        )
        parser.add_argument(
            "--now", action="store_true", help="embed pending memories in this process"
        )
        parser.add_argument(
            "--again", action="store_true", help="let the workers embed all memories again"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not vector_column.exists():
            vector_column.add(settings.MIGRATE_ALIAS)
            vector_column.reset_cache()
        if not vector_column.exists():
            raise CommandError(vector_column.MISSING)
        failing_count, has_embedder = 0, False
        for team in self._list_teams(options["team"]):
            embedder = get_embedder(team.pk, is_fresh=True)
            if embedder is None:
                continue
            has_embedder = True
            self.stdout.write(f"{team.slug}: embedder {embedder.name}")
            if options["again"]:
                count = enqueue_all(team.pk)
                self.stdout.write(f"{team.slug}: {count} queued to be embedded again")
            if options["now"]:
                reset_checks()
                self.stdout.write(f"{team.slug}: {embed_team(team.pk)} embedded")
            else:
                enqueue_outdated(team.pk, embedder)
            failing_count += self._print_state(team)
        if not has_embedder:
            raise CommandError("No embedder is configured; see MEMORY_EMBEDDER in .env.example.")
        if failing_count:
            raise CommandError(f"{failing_count} memories could not be embedded yet.", returncode=1)

    def _list_teams(self, slug: str | None) -> list[Team]:
        teams = Team.objects.order_by("slug")
        if slug is not None:
            teams = teams.filter(slug=slug)
            if not teams:
                raise CommandError(f"Team {slug!r} not found.", returncode=2)
        return list(teams)

    def _print_state(self, team: Team) -> int:
        """Print the state of the team and return how many of its memories could not be embedded."""
        state = load_embedding_state(team.pk)
        if state is None:
            return 0
        line = f"{team.slug}: {state.embedded} of {state.entries} embedded ({state.percent}%)"
        if state.failing:
            line += f", {state.failing} failing: {state.problem}"
        self.stdout.write(line)
        return state.failing
