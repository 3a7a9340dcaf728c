"""No route waits inside its transaction for a bucket that keeps files, or for the installation that keeps working memory.

`test_access_matrix.py` asks every route while the network is away; here the answers differ, as files and memory are away,
too. What workers do is in ``tests/workflows/test_waiting_for_stores.py``.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest
from django.core.files.storage import InMemoryStorage

from accounts.tenancy import tenant
from config.net import transport
from config.net.errors import NetFault
from memory import routing
from memory.models import Namespace
from tests.architecture.matrix_core import Row, ask, undone
from tests.architecture.matrix_objects import CANARY_A, ROWS
from tests.architecture.outside import Door
from tests.architecture.test_access_matrix import made, make, together
from tests.architecture.world import World
from workflows.files import contents


pytestmark = pytest.mark.django_db

__all__ = ["made"]  # the fixture with the world
MEMORY_URL: Final = "https://memory.example"
WORKING_MEMORY: Final = ("run", "run_metadata", "workflow")
# By their addresses: routes that have to do with what is stored.
STORING: Final = re.compile(r"memory|file|document|upload|export|erasure|transfer|providers/")


class Stores(Door):
    """The door to everything that stores something elsewhere, which remembers who came to it."""

    def __init__(self) -> None:
        super().__init__()
        self.places: set[str] = set()

    def reach(self, place: str) -> None:
        self.places.add(place)
        self.note_call()

    def refuse(self, request: Any) -> None:
        self.reach("memory" if str(request.url).startswith(MEMORY_URL) else "network")
        raise NetFault("nobody is outside")


class Bucket(InMemoryStorage):
    """A store of files behind the door, which answers."""

    def __init__(self, stores: Stores) -> None:
        super().__init__()
        self._stores = stores

    def save(self, name: str | None, content: Any, max_length: int | None = None) -> str:
        self._stores.reach("bucket")
        return super().save(name, content, max_length)

    def open(self, name: str, mode: str = "rb") -> Any:
        self._stores.reach("bucket")
        return super().open(name, mode)

    def exists(self, name: str) -> bool:
        self._stores.reach("bucket")
        return super().exists(name)

    def delete(self, name: str) -> None:
        self._stores.reach("bucket")
        super().delete(name)


@pytest.fixture
def stores(made: World, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stores]:
    """Everything outside is behind one door: the network, the bucket, and the memory of the team's workflows."""
    there = Stores()
    bucket = Bucket(there)
    team = made.cast.team_a.pk
    monkeypatch.setattr(transport.Rules, "check", lambda _rules, request: there.refuse(request))
    monkeypatch.setattr(contents, "get_storage", lambda: bucket)
    settings.MEMORY_PLACES = tuple(f"{scope}@{team}=http" for scope in WORKING_MEMORY)
    settings.MEMORY_HTTP_URL, settings.MEMORY_HTTP_KEY = MEMORY_URL, "key"
    with tenant([team]):
        Namespace.objects.create(
            team_id=team, text="ai:memory:w1:g", scope="workflow", kept_in="http"
        )
    yield there
    routing.close_providers()


@pytest.mark.slow
@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([row for row in ROWS if STORING.search(row.route)], id="what stores"),
        pytest.param(ROWS, id="all", marks=pytest.mark.nightly),
    ],
)
def test_no_route_waits_for_a_store_elsewhere_inside_its_transaction(
    rows: list[Row], made: World, stores: Stores
) -> None:
    admin = made.principals()["admin"]
    waiting = []
    for some in together(rows):
        with undone():
            values = make(some[0], made.cast.alice, CANARY_A)
            for row in some:
                with undone(), stores.watch() as waits:
                    ask(admin, row, values)
                waiting += [row.name] if any(waits) else []

    assert waiting == []
    assert stores.places == {"network", "bucket", "memory"}
