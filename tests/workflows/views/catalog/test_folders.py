"""The Workflows page by folder: what is listed where, the forms, and where one comes out after each."""

import re

import pytest
from django.urls import reverse

from tests.factories.workflows import document, make_workflow, within
from tests.support.cast import Cast, Person
from tests.workflows.views.conftest import HTMX, text_of
from workflows import selectors
from workflows.models import Folder, Workflow
from workflows.services.catalog import folders


LIST = reverse("workflows:list")
NEW = reverse("workflows:new_folder")
MOVE = reverse("workflows:move")


def make_folder(person: Person, name: str, parent: Folder | None = None) -> Folder:
    return folders.create_folder(person.principal, team_id=person.team.pk, name=name, parent=parent)


def put(person: Person, folder: Folder | None, *names: str) -> list[Workflow]:
    made = [make_workflow(person, name) for name in names]
    return folders.move_workflows(person.principal, workflows=made, into=folder)


def inside(folder: Folder) -> str:
    return f"{LIST}?folder={folder.pk}"


def address(name: str, folder: Folder) -> str:
    return reverse(f"workflows:{name}", args=[folder.pk])


def rows_of(page: str) -> list[str]:
    """Names of the workflows in the list."""
    return re.findall(r'<td><a href="/workflows/[0-9a-f-]{36}/"[^>]*>([^<]*)</a>', page)


def tiles_of(page: str) -> list[tuple[str, str]]:
    found = re.findall(
        r'class="folder-open".*?<b[^>]*>(.*?)</b>\s*<span[^>]*>(.*?)</span>', page, re.S
    )
    return [(name, words) for name, words in found]


def paths_of(person: Person) -> list[str]:
    with within(person):
        tree = selectors.load_folder_tree(person.principal, person.team.pk)
    return [tree.format_path(folder.pk) for folder, _level in tree.walk(None)]


def folder_of(person: Person, workflow: Workflow) -> object:
    with within(person):
        return Workflow.objects.visible_to(person.principal).get(pk=workflow.pk).folder_id


def test_page_lists_what_lies_directly_where_one_is(bob: Person):
    sales = make_folder(bob, "Sales")
    europe = make_folder(bob, "Europe", sales)
    put(bob, None, "top")
    put(bob, sales, "one", "two")
    put(bob, europe, "deep")
    client = bob.client

    pages = [text_of(client.get(place)) for place in (LIST, inside(sales), inside(europe))]

    assert [rows_of(page) for page in pages] == [["top"], ["two", "one"], ["deep"]]
    assert [tiles_of(page) for page in pages] == [
        [("Sales", "Folders: 1 · Workflows: 2")],
        [("Europe", "Workflows: 1")],
        [],
    ]
    crumbs = re.search(r'<nav class="crumbs".*?</nav>', pages[2], re.S)
    assert crumbs
    assert re.findall(r'href="([^"]*)"', crumbs[0]) == [LIST, inside(sales)]
    assert "<h1>Europe</h1>" in pages[2]


def test_search_looks_everywhere_and_says_where_it_found(bob: Person):
    europe = make_folder(bob, "Europe & more", make_folder(bob, "Sales"))
    put(bob, None, "Rain at the top")
    put(bob, europe, "Rain in Spain")
    make_folder(bob, "Rainy days", europe)

    page = text_of(bob.client.get(LIST, {"q": "rain"}))

    assert rows_of(page) == ["Rain in Spain", "Rain at the top"]
    assert page.count("in-folder") == 1
    assert f'<a href="{inside(europe)}">Sales / Europe &amp; more</a>' in page
    assert tiles_of(page) == [("Rainy days", "Sales / Europe &amp; more")]


def test_list_by_folder_asks_as_often_however_much_there_is(bob: Person, django_assert_num_queries):
    client = bob.client
    first = make_folder(bob, "First")
    put(bob, first, "one")
    client.get(LIST)

    for place in (LIST, inside(first), f"{LIST}?q=o"):
        with django_assert_num_queries(14):
            client.get(place)
    second = make_folder(bob, "Second", first)
    make_folder(bob, "Third", make_folder(bob, "Fourth", second))
    put(bob, second, "two", "three")
    put(bob, first, "four", "five")
    for place in (LIST, inside(first), f"{LIST}?q=o"):
        with django_assert_num_queries(14):
            client.get(place)


def test_empty_places_explain_themselves(cast: Cast):
    empty = make_folder(cast.bob, "Empty")
    make_folder(cast.bob, "Inner", make_folder(cast.bob, "Outer"))
    with within(cast.bob):
        outer = Folder.objects.unscoped().get(name="Outer")

    pages = {
        "top": text_of(cast.bob.client.get(LIST)),
        "empty": text_of(cast.bob.client.get(inside(empty))),
        "outer": text_of(cast.bob.client.get(inside(outer))),
        "viewer": text_of(cast.vic.client.get(inside(empty))),
    }

    assert "All workflows are in folders." in pages["top"]
    assert "This folder is empty" in pages["empty"]
    assert f'href="/workflows/new/?folder={empty.pk}">New workflow' in pages["empty"]
    assert f'{{"folder": "{empty.pk}"}}' in pages["empty"]
    assert "No workflows in this folder, only subfolders." in pages["outer"]
    assert "Editors of the team can add workflows here." in pages["viewer"]


@pytest.mark.parametrize("who", ["alice", "ada", "bob", "vic"])
def test_page_offers_to_arrange_to_those_who_may(cast: Cast, who: str):
    folder = make_folder(cast.bob, "Sales")
    put(cast.bob, None, "top")

    page = text_of(cast.people[who].client.get(LIST))

    offered = [
        words in page
        for words in (
            f'href="{NEW}"',
            address("rename_folder", folder),
            address("delete_folder", folder),
            'draggable="true"',
            'form="choose"',
            "js/folders.js",
        )
    ]
    assert offered == [who != "vic"] * 6


@pytest.mark.parametrize("folder", ["nonsense", "00000000-0000-0000-0000-000000000000"])
def test_place_that_is_none_is_not_found(bob: Person, folder: str):
    assert bob.client.get(LIST, {"folder": folder}).status_code == 404


def test_folder_of_another_of_ones_teams_is_not_in_this_ones_list(cast: Cast):
    theirs = make_folder(cast.carol, "Theirs")

    assert cast.bob.client.get(inside(theirs)).status_code == 404
    assert cast.bob.client.post(f"{NEW}?folder={theirs.pk}", {"name": "x"}).status_code == 404


def test_new_folder_is_made_where_one_is(bob: Person):
    sales = make_folder(bob, "Sales")

    answer = bob.client.post(f"{NEW}?folder={sales.pk}", {"name": "Europe"})

    assert (answer.status_code, answer["Location"]) == (302, inside(sales))
    assert paths_of(bob) == ["Sales", "Sales / Europe"]


def test_forms_open_as_a_fragment_for_the_dialog_and_as_a_page(bob: Person):
    sales = make_folder(bob, "Sales")
    (workflow,) = put(bob, sales, "one")
    places = [
        NEW,
        address("rename_folder", sales),
        address("move_folder", sales),
        f"{MOVE}?workflow={workflow.pk}",
    ]

    for place in places:
        page = text_of(bob.client.get(place))
        fragment = text_of(bob.client.get(place, headers=HTMX))

        assert ("<h1" in page, "hx-post" in page) == (True, False)
        assert ("<html" in fragment, "hx-post" in fragment) == (False, True)


def test_form_of_the_dialog_says_what_is_wrong_or_leads_on(bob: Person):
    make_folder(bob, "Sales")

    wrong = bob.client.post(NEW, {"name": "SALES"}, headers=HTMX)
    empty = bob.client.post(NEW, {"name": " "}, headers=HTMX)
    right = bob.client.post(NEW, {"name": "Europe"}, headers=HTMX)

    assert (wrong.status_code, "with this name already exists here" in text_of(wrong)) == (
        422,
        True,
    )
    assert (empty.status_code, "errorlist" in text_of(empty)) == (422, True)
    assert (right.status_code, right["HX-Redirect"]) == (204, LIST)


def test_folder_renamed_keeps_one_where_one_was(bob: Person):
    sales = make_folder(bob, "Sales")
    place = address("rename_folder", sales)
    form = text_of(bob.client.get(place))

    from_inside = bob.client.post(f"{place}?folder={sales.pk}", {"name": "Buyers"})
    from_search = bob.client.post(f"{place}?q=b%26", {"name": "Customers"})

    assert 'value="Sales"' in form
    assert (from_inside["Location"], from_search["Location"]) == (inside(sales), f"{LIST}?q=b%26")
    assert paths_of(bob) == ["Customers"]


def test_places_offered_to_a_folder_are_not_its_own(bob: Person):
    sales = make_folder(bob, "Sales")
    make_folder(bob, "Inner", sales)
    other = make_folder(bob, "Other")
    place = address("move_folder", sales)

    page = text_of(bob.client.get(place))
    moved = bob.client.post(place, {"into": str(other.pk)}, follow=True)

    assert re.findall(r'name="into" value="([^"]*)"', page) == ["", str(other.pk)]
    assert "Moved to “Other”." in text_of(moved)
    assert paths_of(bob) == ["Other", "Other / Sales", "Other / Sales / Inner"]


def test_move_that_is_refused_says_why(bob: Person):
    sales = make_folder(bob, "Sales")
    other = make_folder(bob, "Other")
    make_folder(bob, "sales", other)

    answer = bob.client.post(address("move_folder", sales), {"into": str(other.pk)})

    assert (answer.status_code, "with this name already exists here" in text_of(answer)) == (
        422,
        True,
    )


def test_folder_deleted_leaves_its_workflows_one_level_up(bob: Person):
    sales = make_folder(bob, "Sales")
    europe = make_folder(bob, "Europe", sales)
    (workflow,) = put(bob, europe, "one")

    from_inside = bob.client.post(f"{address('delete_folder', europe)}?folder={europe.pk}")
    again = bob.client.post(address("delete_folder", europe))
    from_above = bob.client.post(address("delete_folder", sales), follow=True)

    assert (from_inside["Location"], again.status_code) == (inside(sales), 404)
    assert "Its contents moved to the parent folder" in text_of(from_above)
    assert rows_of(text_of(from_above)) == ["one"]
    assert folder_of(bob, workflow) is None


def test_chosen_workflows_are_moved_together(bob: Person):
    sales = make_folder(bob, "Sales")
    one, two, three = put(bob, None, "one", "two", "three")
    ids = [str(one.pk), str(two.pk)]

    form = text_of(bob.client.get(MOVE, {"workflow": ids}))
    answer = bob.client.post(MOVE, {"workflow": ids, "into": str(sales.pk)})

    assert "Move 2 workflows" in form
    assert all(f'name="workflow" value="{id_}"' in form for id_ in ids)
    assert (answer.status_code, answer["Location"]) == (302, LIST)
    assert [folder_of(bob, workflow) for workflow in (one, two, three)] == [
        sales.pk,
        sales.pk,
        None,
    ]


def test_nothing_chosen_is_said(bob: Person):
    answer = bob.client.get(MOVE, follow=True)

    assert answer.redirect_chain == [(LIST, 302)]
    assert "Select the workflows to move." in text_of(answer)


@pytest.mark.parametrize("workflow", ["nonsense", "00000000-0000-0000-0000-000000000000"])
def test_workflow_to_move_that_is_none_is_not_found(bob: Person, workflow: str):
    assert bob.client.post(MOVE, {"workflow": workflow, "into": ""}).status_code == 404


def test_what_is_begun_inside_a_folder_lands_in_it(bob: Person):
    sales = make_folder(bob, "Sales")
    source = str(document()).replace("'", '"').replace("True", "true")
    posts = {
        reverse("workflows:new"): {"mode": "workflow", "name": "blank"},
        reverse("workflows:import"): {"document": source, "name": "imported"},
        reverse("workflows:copy_sample", args=["chatbot"]): {},
    }

    answers = [bob.client.post(f"{place}?folder={sales.pk}", body) for place, body in posts.items()]

    assert [answer.status_code for answer in answers] == [302, 302, 302]
    assert len(rows_of(text_of(bob.client.get(inside(sales))))) == 3
    assert rows_of(text_of(bob.client.get(LIST))) == []


def test_ways_to_begin_one_carry_the_folder_along(bob: Person):
    sales = make_folder(bob, "Sales")
    carried = f"?folder={sales.pk}"
    pages = {
        place: text_of(bob.client.get(f"{place}{carried}"))
        for place in (LIST, reverse("workflows:new"), reverse("workflows:samples"))
    }

    assert f'"/samples/{carried}"' in pages[LIST]
    assert f'"/workflows/import/{carried}"' in pages[LIST]
    assert f'"/workflows/import/{carried}"' in pages[reverse("workflows:new")]
    assert f'"/samples/chatbot/copy/{carried}"' in pages[reverse("workflows:samples")]
    assert f"?scope=user&amp;folder={sales.pk}" in pages[reverse("workflows:samples")]


def test_way_back_from_a_workflow_leads_to_its_folder(bob: Person):
    sales = make_folder(bob, "Sales")
    (workflow,) = put(bob, sales, "one")

    page = text_of(bob.client.get(reverse("workflows:detail", args=[workflow.pk])))
    archived = bob.client.post(reverse("workflows:archive", args=[workflow.pk]))

    assert f'href="{inside(sales)}"' in page
    assert archived["Location"] == inside(sales)


def test_move_without_folders_makes_one_right_there_or_says_why_not(bob: Person):
    (workflow,) = put(bob, None, "one")
    asked = {"workflow": str(workflow.pk), "into": "new"}

    form = text_of(bob.client.get(MOVE, {"workflow": str(workflow.pk)}))
    nameless = bob.client.post(MOVE, {**asked, "name": " "})
    bob.client.post(MOVE, {**asked, "name": "Sales"})

    assert "Create and move" in form
    assert "Move here" not in form
    assert nameless.status_code == 422
    assert "The name can&#x27;t be empty." in text_of(nameless)
    assert paths_of(bob) == ["Sales"]
    with within(bob):
        (made,) = selectors.list_folders(bob.principal, team_id=bob.team.pk)
    assert folder_of(bob, workflow) == made.pk


def test_row_offers_what_one_may_do_with_it(cast: Cast):
    (workflow,) = put(cast.bob, None, "one")
    own = {
        name: reverse(f"workflows:{name}", args=[workflow.pk])
        for name in ("rename", "duplicate", "export")
    }
    places = [
        *own.values(),
        reverse("workflows:archive_chosen"),
        f"{MOVE}?&amp;workflow={workflow.pk}",
    ]

    pages = [text_of(who.client.get(LIST)) for who in (cast.bob, cast.vic)]

    assert [[f'="{place}"' in page for place in places] for page in pages] == [
        [True] * 5,
        [False, False, True, False, False],
    ]


def test_renamed_in_the_dialog_of_the_list_one_comes_out_where_one_was(bob: Person):
    sales = make_folder(bob, "Sales")
    (workflow,) = put(bob, sales, "one")
    at = f"{reverse('workflows:rename', args=[workflow.pk])}?folder={sales.pk}"

    form = text_of(bob.client.get(at, headers=HTMX))
    wrong = bob.client.post(at, {"name": ""}, headers=HTMX)
    renamed = bob.client.post(at, {"name": "two"}, headers=HTMX)

    assert "<html" not in form
    assert f'hx-post="{at}"' in form
    assert wrong.status_code == 422
    assert (renamed.status_code, renamed["HX-Redirect"]) == (204, inside(sales))
    assert rows_of(text_of(bob.client.get(inside(sales)))) == ["two"]
