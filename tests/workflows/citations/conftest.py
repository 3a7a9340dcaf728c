"""A worker that drives the runs of chats with knowledge."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from accounts.tenancy import tenant
from tests.factories.workflows import make_workflow
from tests.support.cast import Cast
from tests.workflows.citations.documents import MODEL, chat_document, search, write_pages
from workflows.execution.worker import Worker
from workflows.models import Run, Workflow
from workflows.services.runs.runs import start_run


@dataclass
class Desk:
    """Chats of the team, with a worker that drives their runs to the end."""

    cast: Cast
    worker: Worker

    def open(self, *nodes: Any, **options: Any) -> Workflow:
        """Import a chat that searches the pages first."""
        return make_workflow(self.cast.alice, "Desk", chat_document(search(), *nodes, **options))

    def say(self, workflow: Workflow, query: str, by: Any = None, **options: Any) -> Run:
        principal = by or self.cast.alice.principal
        run = start_run(principal, workflow=workflow, query=query, **options)
        self.worker.execute_run(run.pk)
        with tenant([run.team_id]):
            run = Run.objects.unscoped().select_related("workflow").get(pk=run.pk)
        assert run.status == "succeeded", run.error
        return run

    def ask_about(self, pages: dict[str, str], query: str, *nodes: Any, **options: Any) -> Run:
        """Ask a new chat whose knowledge is these pages; by default a model answers."""
        workflow = self.open(*(nodes or MODEL), **options)
        write_pages(self.cast.alice, f"global:{workflow.pk}", **pages)
        return self.say(workflow, query)


@pytest.fixture
def desk(cast: Cast, settings: Any) -> Iterator[Desk]:
    settings.REDIS_URL = ""
    worker = Worker(capacity=1)
    yield Desk(cast, worker)
    worker.stop(0)
