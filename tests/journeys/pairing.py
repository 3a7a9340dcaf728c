"""Two people with a browser each on one workflow, and the questions a test asks of both and of the server."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

from playwright.sync_api import BrowserContext, FloatRect, Locator, Page

from tests.journeys.editing import has_current_form
from tests.journeys.people import sign_in
from tests.journeys.rooms import Rooms
from tests.journeys.seeing import box_of, ready, until
from tests.journeys.shell import Shell
from tests.support.stack import LiveStack


T = TypeVar("T")

MAKE = """
import json, secrets
from django.test import Client
from accounts.models import Role, User
from accounts.principals import load_user_principal
from accounts.services import add_member, create_team
from accounts.tenancy import tenant
from workflows.services.catalog import importing
asked = json.loads({asked!r})
mark = secrets.token_hex(4)
people, team = {{}}, None
for name, role in asked["people"].items():
    user = User.objects.create_user(f"{{name.lower()}}-{{mark}}@example.org", name=name)
    if team is None:
        team = create_team(owner=user, name=f"Pair {{mark}}")
    else:
        add_member(team=team, user=user, role=Role(role))
    client = Client()
    client.force_login(user, backend="allauth.account.auth_backends.AuthenticationBackend")
    people[name] = {{"id": str(user.pk), "cookies": {{k: v.value for k, v in client.cookies.items()}}}}
owner = User.objects.get(pk=next(iter(people.values()))["id"])
with tenant([team.pk]):
    copy = importing.import_document(load_user_principal(owner), team_id=team.pk, source=asked["document"], name="Together")
made = {{"team": str(team.pk), "workflow": str(copy.workflow.pk), "people": people}}
"""

# What a browser shows of the draft; the server's side is `document_of`.
SHOWN = """() => {
  const { model } = window.mnemoflow.editor;
  const nodes = {};
  for (const { id, x, y, el } of model.nodes.values()) {
    const text = el.dataset.kind === "note" ? el.querySelector(".wf-note").textContent.trim() : el.dataset.title;
    nodes[id] = [Math.round(x * 100) / 100, Math.round(y * 100) / 100, text, el.dataset.parent];
  }
  const edges = {};
  for (const { id, from, fp, to, tp } of model.edges.values()) edges[id] = [from, fp, to, tp];
  const drawn = [...document.querySelectorAll(".wf-view wf-node")].map((el) => el.dataset.id).sort();
  const wires = [...document.querySelectorAll(".wf-view .wf-edge[data-id]")].map((el) => el.dataset.id).sort();
  return { nodes, edges, drawn, wires };
}"""


def document(steps: int = 6) -> dict[str, Any]:
    """A row of templates between a start and an end, and a note."""
    names = [f"t{number}" for number in range(steps)]
    row = ["start", *names, "end"]
    nodes: list[dict[str, Any]] = [
        {"id": "start", "position": {"x": 0, "y": 0}, "data": {"type": "start", "title": "Start", "variables": []}},
        *(
            {
                "id": name,
                "position": {"x": 300 * (at + 1), "y": 0},
                "data": {"type": "template-transform", "title": name, "template": "x", "variables": []},
            }
            for at, name in enumerate(names)
        ),
        {"id": "end", "position": {"x": 300 * (steps + 1), "y": 0}, "data": {"type": "end", "title": "End", "outputs": []}},
    ]  # fmt: skip
    edges = [{"id": f"e{at}", "source": a, "target": b} for at, (a, b) in enumerate(pairwise(row))]
    return {
        "version": "0.1.0",
        "kind": "app",
        "app": {"mode": "workflow", "name": "Together"},
        "workflow": {"graph": {"nodes": nodes, "edges": edges}},
    }


@dataclass
class Seat:
    """One person's browser."""

    name: str
    id: str
    context: BrowserContext
    page: Page

    def editor(self, script: str, argument: Any = None) -> Any:
        """A function of the page: ``(editor, argument) => …``."""
        return self.page.evaluate(f"(a) => ({script})(window.mnemoflow.editor, a)", argument)

    def shown(self) -> dict[str, Any]:
        found: dict[str, Any] = self.page.evaluate(SHOWN)
        return found

    def has_settled(self) -> bool:
        return bool(
            self.editor("(e) => e.edits.waiting.length === 0 && e.edits.state !== 'saving'")
        )

    def has_current_form(self) -> bool:
        return has_current_form(self.page)

    def drag(self, node: str, dx: int, dy: int) -> None:
        """By mouse, as a person does."""
        self.drag_from(box_of(self.card(node)), dx, dy)

    def card(self, node: str) -> Locator:
        return self.page.locator(f"#node-{node} > .wf-card")

    def drag_from(self, box: FloatRect, dx: int, dy: int) -> None:
        x, y = box["x"] + min(40, box["width"] / 2), box["y"] + 14
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        self.page.mouse.move(x + dx / 2, y + dy / 2)
        self.page.mouse.move(x + dx, y + dy, steps=3)
        self.page.mouse.up()


@dataclass
class Pair:
    stack: LiveStack
    workflow: str
    team: str
    seats: list[Seat]
    began: int = 0  # the draft's first revision

    def rows(self) -> dict[str, Any]:
        """The draft's own rows, in the form of ``SHOWN``."""
        nodes = self.stack.sql(
            "select key, x, y, case when is_note then data->>'text' else title end, parent"
            " from workflows_node where workflow_id = %s",
            (self.workflow,),
        )
        edges = self.stack.sql(
            "select key, source, handle, target, target_handle from workflows_edge where workflow_id = %s",
            (self.workflow,),
        )
        return {
            "nodes": {
                key: [rounded(x), rounded(y), str(text or "").strip(), parent or ""]
                for key, x, y, text, parent in nodes
            },
            "edges": {key: list(rest) for key, *rest in edges},
            "drawn": sorted(str(key) for key, *_rest in nodes),
            "wires": sorted(str(key) for key, *_rest in edges),
        }

    def revision(self) -> int:
        ((number,),) = self.stack.sql(
            "select revision from workflows_workflow where id = %s", (self.workflow,)
        )
        assert isinstance(number, int)
        return number

    def log(self) -> list[tuple[int, str, str, Any]]:
        """Number, author, label, operations, of everything since the workflow was made."""
        rows = self.stack.sql(
            "select number, author_id::text, label, ops from workflows_revision"
            " where workflow_id = %s and number > %s order by number",
            (self.workflow, self.began),
        )
        return [(int(str(n)), str(author), str(label), ops) for n, author, label, ops in rows]

    def until(self, what: Callable[[], T], why: str = "") -> T:
        return until(self.seats[0].page, what, why=why)

    def until_settled(self) -> None:
        """Everything sent, and everybody as far as the server."""

        def is_settled() -> bool:
            at = self.revision()
            return all(
                seat.has_settled() and seat.editor("(e) => e.edits.revision") == at
                for seat in self.seats
            )

        self.until(is_settled, "the browsers never came to rest")

    def until_equal(self) -> None:
        """Settled, and all three the same."""
        self.until_settled()
        for seat in self.seats:
            self._until_same(seat)

    def _until_same(self, seat: Seat) -> None:
        with suppress(AssertionError):  # what differs is said below
            self.until(lambda: seat.shown() == self.rows())
        assert seat.shown() == self.rows(), seat.name


def rounded(number: Any) -> float:
    """As ``SHOWN`` does."""
    return round(float(number), 2)


@contextmanager
def pair(
    stack: LiveStack,
    shell: Shell,
    rooms: Rooms,
    people: dict[str, str] | None = None,
    source: dict[str, Any] | None = None,
) -> Iterator[Pair]:
    """Everybody's browser at the same draft, until the block ends."""
    asked = json.dumps(
        {
            "people": people or {"Alice": "owner", "Bob": "editor"},
            "document": source or document(),
        }
    )
    made = shell.run(MAKE.format(asked=asked))
    with ExitStack() as lent:
        seats = []
        for name, person in made["people"].items():
            context = lent.enter_context(rooms.lent())
            sign_in(context, stack.url, person["cookies"])
            seats.append(Seat(name, person["id"], context, context.pages[0]))
        together = Pair(stack, made["workflow"], made["team"], seats)
        together.began = together.revision()
        for seat in seats:
            open_editor(seat, together.workflow)
        yield together


def open_editor(seat: Seat, workflow: str) -> None:
    seat.page.goto(f"/workflows/{workflow}/")
    ready(seat.page)


def rename(seat: Seat, node: str, title: str) -> None:
    """Handed in, not waited for."""
    seat.editor(
        "(e, [id, title]) => { e.edits.send([{ op: 'rename', id, title }], { label: title }); }",
        [node, title],
    )
