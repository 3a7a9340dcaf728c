"""Folders: the verbs, what they refuse, and that nothing is lost with one."""

import threading
from collections.abc import Callable

import pytest
from django.db import IntegrityError, connection, transaction

from accounts.errors import NotAllowed, NotFound
from accounts.models import AuditEntry
from tests.factories.workflows import make_workflow, within
from tests.support.cast import Cast, Person
from workflows import selectors
from workflows.errors import InvalidValue, NameTaken, WorkflowArchived
from workflows.models import Folder, FolderTree, Workflow
from workflows.models import folder as folder_module
from workflows.services.catalog import folders, importing, new_workflow
from workflows.services.editor import drafts
from workflows.services.samples import samples


pytestmark = pytest.mark.django_db


def make_folder(person: Person, name: str = "Reports", parent: Folder | None = None) -> Folder:
    return folders.create_folder(person.principal, team_id=person.team.pk, name=name, parent=parent)


def make_line(person: Person, *names: str) -> list[Folder]:
    """Each in the one before."""
    made: list[Folder] = []
    for name in names:
        made.append(make_folder(person, name, made[-1] if made else None))
    return made


def tree_of(person: Person) -> FolderTree:
    with within(person):
        return selectors.load_folder_tree(person.principal, person.team.pk)


def paths_of(person: Person) -> list[str]:
    tree = tree_of(person)
    return [tree.format_path(folder.pk) for folder, _level in tree.walk(None)]


def fresh(person: Person, workflow: Workflow) -> Workflow:
    with within(person):
        return Workflow.objects.visible_to(person.principal).get(pk=workflow.pk)


def move(person: Person, workflow: Workflow, into: Folder | None) -> None:
    folders.move_workflows(person.principal, workflows=[workflow], into=into)


def audited(person: Person) -> list[tuple[str, str]]:
    with within(person):
        rows = AuditEntry.objects.unscoped().filter(team_id=person.team.pk).order_by("seq")
        return [
            (row.action, row.subject)
            for row in rows
            if row.action.startswith("folder.") or row.action == "workflow.moved"
        ]


def test_folders_stand_by_name_each_after_the_one_it_is_in(bob: Person):
    make_line(bob, "sales", "Europe")
    make_folder(bob, "Archive")
    make_folder(bob, "  Old   things ", make_folder(bob, "Zoo"))

    assert paths_of(bob) == ["Archive", "sales", "sales / Europe", "Zoo", "Zoo / Old things"]


@pytest.mark.parametrize("name", ["Reports", "REPORTS", " reports "])
def test_name_is_there_once_among_siblings_whatever_its_case(bob: Person, name: str):
    first = make_folder(bob)

    with pytest.raises(NameTaken):
        make_folder(bob, name)
    inside = make_folder(bob, name, first)
    other = make_folder(bob, "Other")
    with pytest.raises(NameTaken):
        folders.rename_folder(bob.principal, folder=other, name=name)
    with pytest.raises(NameTaken):
        folders.move_folder(bob.principal, folder=inside, into=None)

    assert len(paths_of(bob)) == 3


def test_name_once_is_the_databases_rule_too(bob: Person):
    make_folder(bob)

    with pytest.raises(IntegrityError, match="folder_name_once"), within(bob):
        Folder.objects.create(team=bob.team, name="rePORTS")


def test_same_name_in_two_teams_is_no_conflict(cast: Cast):
    make_folder(cast.bob)
    make_folder(cast.carol)

    assert paths_of(cast.bob) == paths_of(cast.carol) == ["Reports"]


def test_folder_renamed_in_its_own_letters_of_another_case(bob: Person):
    folder = make_folder(bob, "reports")

    folders.rename_folder(bob.principal, folder=folder, name="Reports")

    assert paths_of(bob) == ["Reports"]


@pytest.mark.parametrize("name", ["", "   ", "x" * 256])
def test_what_is_no_name_is_refused(bob: Person, name: str):
    folder = make_folder(bob)

    with pytest.raises(InvalidValue):
        make_folder(bob, name)
    with pytest.raises(InvalidValue):
        folders.rename_folder(bob.principal, folder=folder, name=name)


def test_folders_go_five_levels_deep_however_they_get_there(bob: Person):
    line = make_line(bob, "1", "2", "3", "4", "5")
    pair = make_line(bob, "a", "b")

    with pytest.raises(InvalidValue, match="5 levels"):
        make_folder(bob, "6", line[4])
    with pytest.raises(InvalidValue, match="5 levels"):
        folders.move_folder(bob.principal, folder=pair[0], into=line[3])
    folders.move_folder(bob.principal, folder=pair[0], into=line[2])

    assert "1 / 2 / 3 / a / b" in paths_of(bob)


@pytest.mark.parametrize("into", [0, 1, 2])
def test_folder_is_not_moved_into_itself_nor_what_is_in_it(bob: Person, into: int):
    line = make_line(bob, "1", "2", "3")

    with pytest.raises(InvalidValue, match="into itself"):
        folders.move_folder(bob.principal, folder=line[0], into=line[into])

    assert paths_of(bob) == ["1", "1 / 2", "1 / 2 / 3"]


def test_team_has_a_most_of_folders(bob: Person, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(folders, "MAX_FOLDERS", 2)
    make_line(bob, "1", "2")

    with pytest.raises(InvalidValue, match="2 folders"):
        make_folder(bob, "3")

    assert folder_module.MAX_FOLDERS == 500


def test_workflows_moved_together_stay_the_same_but_for_their_place(bob: Person):
    folder = make_folder(bob)
    one, two = make_workflow(bob, "one"), make_workflow(bob, "two")

    folders.move_workflows(bob.principal, workflows=[one, two], into=folder)

    after = [fresh(bob, workflow) for workflow in (one, two)]
    assert [row.folder_id for row in after] == [folder.pk, folder.pk]
    assert [(row.revision, row.updated_at) for row in after] == [
        (row.revision, row.updated_at) for row in (one, two)
    ]
    (counted,) = tree_of(bob).list_children(None)
    assert counted.workflow_count == 2


def test_archived_workflow_is_not_moved_nor_the_others_asked_with_it(bob: Person):
    folder = make_folder(bob)
    one, two = make_workflow(bob, "one"), make_workflow(bob, "two")
    archived = drafts.archive(bob.principal, workflow=two)

    with pytest.raises(WorkflowArchived):
        folders.move_workflows(bob.principal, workflows=[one, archived], into=folder)

    assert fresh(bob, one).folder_id is None


def test_new_ones_land_in_the_folder_and_a_copy_beside_its_first(bob: Person):
    from workflows.engine.language.document import Mode

    folder, team_id = make_folder(bob), bob.team.pk
    place = {"team_id": team_id, "folder": folder}
    made = [
        new_workflow.create_blank(bob.principal, mode=Mode.CHAT, **place),
        importing.import_document(bob.principal, source=_echo(), **place).workflow,
        samples.copy_sample(bob.principal, slug="chatbot", **place),
    ]
    made.append(importing.duplicate_workflow(bob.principal, workflow=made[0]))

    assert {fresh(bob, workflow).folder_id for workflow in made} == {folder.pk}


def _echo() -> dict[str, object]:
    from tests.factories.workflows import document

    return document()


def test_folder_deleted_lets_all_that_is_in_it_move_up_one_level(bob: Person):
    top, middle, deep = make_line(bob, "Top", "Middle", "Deep")
    here, archived, below = (make_workflow(bob, name) for name in ("here", "old", "below"))
    for workflow, folder in ((here, middle), (archived, middle), (below, deep)):
        move(bob, workflow, folder)
    drafts.archive(bob.principal, workflow=archived)

    folders.delete_folder(bob.principal, folder=middle)

    assert paths_of(bob) == ["Top", "Top / Deep"]
    places = [fresh(bob, workflow).folder_id for workflow in (here, archived, below)]
    assert places == [top.pk, top.pk, deep.pk]


def test_folder_that_moves_up_beside_its_namesake_gets_a_number(bob: Person):
    make_folder(bob, "Reports")
    make_folder(bob, "reports (2)")
    gone = make_folder(bob, "Gone")
    inner = make_folder(bob, "REPORTS", gone)
    make_folder(bob, "gone", gone)  # as the one that goes away: its name is free then

    folders.delete_folder(bob.principal, folder=gone)

    assert paths_of(bob) == ["gone", "Reports", "reports (2)", "REPORTS (3)"]
    assert tree_of(bob).folders[inner.pk].name == "REPORTS (3)"


CHANGES: dict[str, Callable[[Person, Folder, Workflow], object]] = {
    "create": lambda who, folder, _: folders.create_folder(
        who.principal, team_id=folder.team_id, name="New"
    ),
    "rename": lambda who, folder, _: folders.rename_folder(
        who.principal, folder=folder, name="New"
    ),
    "move": lambda who, folder, _: folders.move_folder(who.principal, folder=folder, into=None),
    "delete": lambda who, folder, _: folders.delete_folder(who.principal, folder=folder),
    "fill": lambda who, folder, workflow: move(who, workflow, folder),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("who", ["vic", "carol"])
def test_who_may_not_edit_changes_nothing(cast: Cast, who: str, name: str):
    folder, workflow = make_folder(cast.bob), make_workflow(cast.bob)

    with pytest.raises((NotAllowed, NotFound)):
        CHANGES[name](cast.people[who], folder, workflow)

    assert paths_of(cast.bob) == ["Reports"]
    assert fresh(cast.bob, workflow).folder_id is None


def test_folder_of_another_team_is_not_found_and_takes_nothing_in(cast: Cast):
    theirs, mine = make_folder(cast.carol), make_workflow(cast.bob)

    with within(cast.bob):
        with pytest.raises(NotFound):
            selectors.find_folder(cast.bob.principal, theirs.pk)
        assert list(selectors.list_folders(cast.bob.principal)) == []
    with pytest.raises(InvalidValue):
        move(cast.bob, mine, theirs)
    with pytest.raises(InvalidValue):
        make_folder(cast.bob, "Inside", theirs)
    with pytest.raises(InvalidValue):
        blank_in(cast.bob, theirs)


def blank_in(person: Person, folder: Folder) -> Workflow:
    from workflows.engine.language.document import Mode

    return new_workflow.create_blank(
        person.principal, team_id=person.team.pk, mode=Mode.CHAT, folder=folder
    )


def test_folder_deleted_meanwhile_is_not_found(bob: Person):
    folder, workflow = make_folder(bob), make_workflow(bob)
    folders.delete_folder(bob.principal, folder=folder)

    for act in (
        lambda: move(bob, workflow, folder),
        lambda: folders.rename_folder(bob.principal, folder=folder, name="New"),
        lambda: folders.delete_folder(bob.principal, folder=folder),
        lambda: blank_in(bob, folder),
        lambda: make_folder(bob, "Inside", folder),
    ):
        with pytest.raises(NotFound):
            act()


def test_every_change_has_its_line_in_the_trail(bob: Person):
    folder, workflow = make_folder(bob), make_workflow(bob)
    outer = make_folder(bob, "Outer")
    folders.rename_folder(bob.principal, folder=folder, name="Letters")
    folders.move_folder(bob.principal, folder=folder, into=outer)
    move(bob, workflow, folder)
    move(bob, workflow, folder)  # it lies there already: nothing to write down
    folders.delete_folder(bob.principal, folder=folder)

    subject = f"folder:{folder.pk}"
    assert audited(bob) == [
        ("folder.created", subject),
        ("folder.created", f"folder:{outer.pk}"),
        ("folder.renamed", subject),
        ("folder.moved", subject),
        ("workflow.moved", f"workflow:{workflow.pk}"),
        ("folder.deleted", subject),
    ]


@pytest.mark.django_db(transaction=True)
def test_two_moves_at_once_close_no_ring(bob: Person):
    """A into B and B into A: the second sees what the first has done."""
    a, b = make_folder(bob, "A"), make_folder(bob, "B")
    ready, outcomes = threading.Barrier(2), []

    def act(folder: Folder, into: Folder) -> None:
        try:
            with transaction.atomic():
                ready.wait(60)
                folders.move_folder(bob.principal, folder=folder, into=into)
            outcomes.append("moved")
        except InvalidValue:
            outcomes.append("refused")
        finally:
            connection.close()

    threads = [threading.Thread(target=act, args=pair) for pair in ((a, b), (b, a))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert sorted(outcomes) == ["moved", "refused"]
    assert len(paths_of(bob)) == 2
