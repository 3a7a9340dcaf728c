"""Pages that hold no more: they are listed and opened, but not found by workflows, until somebody writes them again."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from memory import services
from memory.core.records import MemoryEntry
from memory.services.knowledge import search_candidates
from memory.services.knowledge.named_bases import list_named_bases
from tests.memory.services.conftest import at_door, in_run
from tests.support.cast import Person
from tests.support.embedding import Tiny


pytestmark = pytest.mark.django_db

WIKI = "global:wiki"
HOURS = {"title": "Opening hours", "content": "The shop is open from nine to five."}


def write(person: Person, page: dict[str, Any], **more: Any) -> MemoryEntry:
    (result,) = services.write_pages(at_door(person), namespace=WIKI, pages=[page], **more)
    entry: MemoryEntry = result.entry
    return entry


def retire(person: Person, entry: MemoryEntry) -> MemoryEntry:
    ended = timezone.now() - timedelta(hours=1)
    return services.edit(
        at_door(person), entry_id=entry.id, if_revision=entry.revision, valid_until=ended
    )


def found(person: Person, query: str = "open", **more: Any) -> list[str]:
    hits = services.find_pages(at_door(person), namespace=WIKI, query=query, **more)
    return [hit.item.page.title for hit in hits]


@pytest.mark.parametrize("size", ["small", "large"])
def test_former_page_is_listed_and_opened_and_not_found(
    alice: Person, size: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if size == "large":
        monkeypatch.setattr(search_candidates, "LARGE_SIZE", 0)
    former = retire(alice, write(alice, HOURS))
    write(alice, {"title": "Door", "content": "The door is open."})

    assert found(alice) == ["Door"]
    everywhere = services.search_all_pages(at_door(alice), query="open")
    assert [hit.item.page.title for hit in everywhere.hits] == ["Door"]
    base = services.get_knowledge_base(at_door(alice), namespace=WIKI)
    assert [page.title for page in base.pages] == ["Door", "Opening hours"]
    assert base.entries["opening-hours"].valid_until == former.valid_until
    assert services.open_page(at_door(alice), entry_id=former.id).page.title == "Opening hours"
    (named,) = list_named_bases(in_run(alice, app_id="wiki"), [WIKI])
    assert named.titles == ("Door",)


def test_former_page_is_not_near_in_meaning(alice: Person, tiny: Tiny) -> None:
    from memory.upkeep.embedding import embed_team

    retire(alice, write(alice, {"title": "Ship", "content": "A ship at the pier."}))
    write(alice, {"title": "Boat", "content": "A boat at the pier."})
    embed_team(alice.team.id)

    assert found(alice, "vessel", min_score=0.0) == ["Boat"]


def test_edit_and_confirmation_of_a_page_keep_when_it_holds(alice: Person) -> None:
    former = retire(alice, write(alice, HOURS))

    view = services.rewrite_page(
        at_door(alice), entry_id=former.id, if_revision=2, changes={"summary": "Until 2025"}
    )
    assert view.entry.valid_until == former.valid_until
    view = services.confirm_page(at_door(alice), entry_id=former.id)
    assert view.entry.valid_until == former.valid_until


@pytest.mark.parametrize("mode", ["merge", "replace"])
@pytest.mark.parametrize("content", [HOURS["content"], "The shop is open on Sundays as well."])
def test_page_that_is_written_again_holds_again(alice: Person, mode: str, content: str) -> None:
    former = retire(alice, write(alice, HOURS))

    again = write(alice, {**HOURS, "content": content}, mode=mode)

    assert (again.id, again.valid_until) == (former.id, None)
    assert found(alice) == ["Opening hours"]


def test_page_that_holds_for_a_time_keeps_it_when_it_is_written_again(alice: Person) -> None:
    entry, ends = write(alice, HOURS), timezone.now() + timedelta(days=1)
    services.edit(at_door(alice), entry_id=entry.id, if_revision=1, valid_until=ends)

    again = write(alice, {**HOURS, "content": "The shop is open on Sundays as well."})

    assert again.valid_until == ends
