"""Named knowledge bases: they exist before their first page, and only whoever may write to the team's memory names them."""

import pytest

from memory import services
from memory.core.errors import AccessDenied, AlreadyExists, InvalidInput
from memory.naming import list_choosable_knowledge_bases
from memory.services.knowledge.knowledge_bases import list_knowledge_bases
from tests.memory.services.conftest import at_door, trail
from tests.support.cast import Cast, Person


pytestmark = pytest.mark.django_db


def choosable(person: Person) -> list[tuple[str, str, str, int]]:
    bases = list_choosable_knowledge_bases(at_door(person))
    return [(base.namespace, base.name, base.description, base.pages) for base in bases]


def test_named_knowledge_base_is_listed_before_it_has_a_page(cast: Cast) -> None:
    row = services.create_knowledge_base(
        at_door(cast.alice), name=" The  Handbook ", description="How we work."
    )

    assert (row.text, row.name, row.description) == (
        "global:the-handbook",
        "The Handbook",
        "How we work.",
    )
    summaries = list_knowledge_bases(at_door(cast.alice))
    assert [(base.row.text, base.pages) for base in summaries] == [("global:the-handbook", 0)]
    assert ("memory.named", "global:the-handbook", True) in trail(cast.alice.team.id)


def test_choosable_knowledge_bases_begin_with_the_teams_and_leave_out_private_ones(
    cast: Cast,
) -> None:
    caller = at_door(cast.alice)
    services.create_knowledge_base(caller, name="Zoo", description="Animals")
    services.create_knowledge_base(caller, name="Atlas")
    for namespace in ("global:atlas", f"user:{cast.alice.user.pk}"):
        services.write_pages(caller, namespace=namespace, pages=[{"title": "Page"}])

    assert choosable(cast.alice) == [
        ("global:default", "Everyone in the team", "", 0),
        ("global:atlas", "Atlas", "", 1),
        ("global:zoo", "Zoo", "Animals", 0),
    ]
    assert choosable(cast.carol) == [("global:default", "Everyone in the team", "", 0)]


def test_renamed_knowledge_base_keeps_its_namespace(cast: Cast) -> None:
    caller = at_door(cast.alice)
    row = services.create_knowledge_base(caller, name="Atlas")

    services.rename_knowledge_base(
        caller, namespace=row.text, name="World atlas", description="Maps"
    )

    assert choosable(cast.alice)[1:] == [("global:atlas", "World atlas", "Maps", 0)]


@pytest.mark.parametrize("name", ["atlas", " ATLAS "])
def test_second_knowledge_base_of_a_name_is_refused(cast: Cast, name: str) -> None:
    services.create_knowledge_base(at_door(cast.alice), name="Atlas")

    with pytest.raises(AlreadyExists, match="name"):
        services.create_knowledge_base(at_door(cast.alice), name=name)


def test_names_with_the_same_letters_get_namespaces_of_their_own(cast: Cast) -> None:
    names = ["C", "C++", "Default", "0198c0de-0000-7000-8000-000000000001", "手册"]
    rows = [services.create_knowledge_base(at_door(cast.alice), name=name) for name in names]

    assert [row.text for row in rows] == [
        "global:c",
        "global:c-2",
        "global:default-2",
        "global:0198c0de-0000-7000-8000-000000000001-2",
        "global:手册",
    ]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"name": "  "}, "name: required"),
        ({"name": "n" * 101}, "name: at most 100"),
        ({"name": "n", "description": "d" * 1_001}, "description: at most 1000"),
    ],
)
def test_texts_that_are_missing_or_too_long_are_refused(
    cast: Cast, texts: dict[str, str], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        services.create_knowledge_base(at_door(cast.alice), **texts)


def test_private_namespace_gets_no_name(cast: Cast) -> None:
    with pytest.raises(InvalidInput, match="shares"):
        services.rename_knowledge_base(
            at_door(cast.alice), namespace=f"user:{cast.alice.user.pk}", name="Mine"
        )


def test_viewer_can_neither_create_nor_rename(cast: Cast) -> None:
    row = services.create_knowledge_base(at_door(cast.alice), name="Atlas")

    with pytest.raises(AccessDenied):
        services.create_knowledge_base(at_door(cast.vic), name="Other")
    with pytest.raises(AccessDenied):
        services.rename_knowledge_base(at_door(cast.vic), namespace=row.text, name="Other")
