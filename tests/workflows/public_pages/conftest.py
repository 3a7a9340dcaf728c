"""A published chat with a public page, visitors in browsers of their own, and a worker that executes on request."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest
from django.core.cache import cache
from django.test import Client

from accounts.models import Team
from accounts.tenancy import tenant
from tests.factories.workflows import make_version
from tests.support.cast import Cast
from tests.workflows.views.conftest import HTMX
from workflows.execution.worker import Worker
from workflows.models import PublicPage, Run, Workflow
from workflows.services.public_pages.settings import change_page
from workflows.services.samples.samples import copy_sample


@dataclass
class Visitor:
    """A browser without an account, on one public page."""

    page: PublicPage
    client: Client = field(default_factory=Client)

    @property
    def root(self) -> str:
        return f"/p/{self.page.token}/"

    def get(self, path: str = "", **query: Any) -> Any:
        return self.client.get(self.root + path, query)

    def post(self, path: str, headers: dict[str, str] | None = None, **data: Any) -> Any:
        return self.client.post(
            self.root + path, data, headers=HTMX if headers is None else headers
        )

    def turn(self, run: Run) -> str:
        text: str = self.get(f"turns/{run.pk}/").content.decode()
        return text

    def say(self, query: str, **data: Any) -> Run:
        answer = self.post("say/", query=query, **data)
        assert answer.status_code == 200, answer.content
        return newest_run()


def read(function: Callable[[], Any]) -> Any:
    """Return what a function reads of the rows of all teams."""
    with tenant(list(Team.objects.values_list("pk", flat=True))):
        return function()


def newest_run() -> Run:
    runs = Run.objects.unscoped().select_related("conversation", "api_key")
    run: Run | None = read(lambda: runs.order_by("-created_at", "-id").first())
    assert run is not None
    return run


def find_run(run_id: UUID) -> Run:
    run: Run = read(lambda: Run.objects.unscoped().get(pk=run_id))
    return run


@pytest.fixture(autouse=True)
def quiet(settings: Any) -> Iterator[None]:
    """Without a bus, readers read rows. No count of another test is left."""
    settings.REDIS_URL = ""
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def chat(cast: Cast) -> Workflow:
    workflow = copy_sample(cast.alice.principal, team_id=cast.team_a.pk, slug="chatbot")
    make_version(cast.alice, workflow)
    return workflow


@pytest.fixture
def page(cast: Cast, chat: Workflow) -> PublicPage:
    return change_page(cast.alice.principal, workflow=chat, access="link")


@pytest.fixture
def visitor(page: PublicPage) -> Visitor:
    return Visitor(page)


@pytest.fixture
def stranger(page: PublicPage) -> Visitor:
    return Visitor(page)


@pytest.fixture
def execute() -> Iterator[Callable[[Run], Run]]:
    """Execute a run to its end, and return it."""
    worker = Worker(capacity=2)

    def run_to_end(run: Run) -> Run:
        worker.execute_run(run.pk)
        return find_run(run.pk)

    yield run_to_end
    worker.stop(0)
