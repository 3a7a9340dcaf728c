"""The folder routes of the API, as a programme with a key uses them."""

import pytest

from accounts.tenancy import tenant
from tests.factories.workflows import document, make_workflow
from workflows.models import Folder


pytestmark = pytest.mark.django_db

ROOT, WORKFLOWS = "/api/v1/folders", "/api/v1/workflows"


@pytest.fixture
def api(alice, api_key):
    return api_key(alice)


def send(client, path, body, method="post"):
    return getattr(client, method)(path, data=body, content_type="application/json")


def made(client, name, parent=None):
    answer = send(client, ROOT, {"name": name, "parent": parent})
    assert answer.status_code == 201, answer.content
    return answer.json()


def listed(client, query=""):
    return [row["name"] for row in client.get(f"{WORKFLOWS}{query}").json()["items"]]


def test_folders_are_made_listed_renamed_moved_and_deleted(api, alice):
    sales = made(api, "Sales")
    europe = made(api, "Europe", sales["id"])
    archive = made(api, "Archive")

    renamed = send(api, f"{ROOT}/{europe['id']}", {"name": "EU"}, "patch").json()
    moved = send(api, f"{ROOT}/{archive['id']}", {"parent": europe["id"]}, "patch").json()
    paths = [row["path"] for row in api.get(ROOT).json()["items"]]
    gone = api.delete(f"{ROOT}/{europe['id']}")

    assert (sales["parent"], sales["team_id"], sales["workflows"]) == (None, str(alice.team.pk), 0)
    assert (renamed["name"], renamed["parent"]) == ("EU", sales["id"])
    assert moved["path"] == ["Sales", "EU", "Archive"]
    assert paths == [["Sales"], ["Sales", "EU"], ["Sales", "EU", "Archive"]]
    assert gone.status_code == 204
    assert [row["path"] for row in api.get(ROOT).json()["items"]] == [
        ["Sales"],
        ["Sales", "Archive"],
    ]


def test_folder_moved_to_the_top_says_null(api):
    inner = made(api, "Inner", made(api, "Outer")["id"])

    answer = send(api, f"{ROOT}/{inner['id']}", {"parent": None}, "patch")

    assert answer.json()["parent"] is None


def test_change_that_is_half_refused_is_not_half_done(api):
    outer, other = made(api, "Outer"), made(api, "Other")
    made(api, "Taken", outer["id"])

    answer = send(api, f"{ROOT}/{other['id']}", {"parent": outer["id"], "name": "taken"}, "patch")

    assert answer.status_code == 409
    assert [row["path"] for row in api.get(ROOT).json()["items"]] == [
        ["Other"],
        ["Outer"],
        ["Outer", "Taken"],
    ]


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"name": "REPORTS"}, 409, "name"),
        ({"name": ""}, 422, "name"),
        ({"name": "  "}, 422, None),
        ({"name": "x" * 256}, 422, "name"),
        ({"name": "New", "team": "x"}, 422, "team"),
        ({"name": "New", "parent": "00000000-0000-0000-0000-000000000000"}, 404, None),
    ],
)
def test_folder_that_cannot_be_is_refused_with_its_field(api, body, status, field):
    made(api, "Reports")

    answer = send(api, ROOT, body)

    problems = answer.json()["error"].get("problems", [{"field": None}])
    assert (answer.status_code, problems[0]["field"]) == (status, field)


def test_list_of_workflows_is_narrowed_to_a_folder_or_to_the_top(api):
    folder = made(api, "Reports")
    send(api, WORKFLOWS, {"document": document(), "name": "inside", "folder": folder["id"]})
    send(api, WORKFLOWS, {"document": document(), "name": "outside"})

    assert listed(api) == ["outside", "inside"]
    assert listed(api, f"?folder={folder['id']}") == ["inside"]
    assert listed(api, "?folder=top") == ["outside"]
    assert api.get(f"{WORKFLOWS}?folder=nowhere").status_code == 422
    assert api.get(ROOT).json()["items"][0]["workflows"] == 1


def test_workflow_patched_into_a_folder_and_out_keeps_name_and_revision(api, alice):
    folder, workflow = made(api, "Reports"), make_workflow(alice, "Weather")
    address = f"{WORKFLOWS}/{workflow.pk}"

    into = send(api, address, {"folder": folder["id"]}, "patch").json()
    renamed = send(api, address, {"name": "Rain"}, "patch").json()
    described = send(api, address, {"description": "Wet."}, "patch").json()
    out = send(api, address, {"folder": None, "name": "Sun"}, "patch").json()

    assert (into["folder"], into["name"], into["revision"]) == (folder["id"], "Weather", 1)
    assert (renamed["folder"], renamed["name"]) == (folder["id"], "Rain")
    assert (described["name"], described["description"]) == ("Rain", "Wet.")
    assert (out["folder"], out["name"]) == (None, "Sun")


def test_workflows_are_moved_together_or_not_at_all(api, alice, carol):
    folder = made(api, "Reports")
    mine, theirs = make_workflow(alice, "mine"), make_workflow(carol, "theirs")
    other = make_workflow(alice, "other")
    address = f"{WORKFLOWS}/move"

    ids = [str(mine.pk), str(theirs.pk)]
    refused = send(api, address, {"workflows": ids, "folder": folder["id"]})
    before = listed(api, "?folder=top")
    ids[1] = str(other.pk)
    moved = send(api, address, {"workflows": ids, "folder": folder["id"]})

    assert (refused.status_code, sorted(before)) == (404, ["mine", "other"])
    assert [row["folder"] for row in moved.json()] == [folder["id"]] * 2
    assert listed(api, "?folder=top") == []
    assert send(api, address, {"workflows": [], "folder": None}).status_code == 422
    assert (
        send(api, address, {"workflows": ids}).status_code == 422
    )  # where to is said, even the top


def test_sample_is_copied_into_a_folder_and_duplicated_beside_it(api):
    folder = made(api, "Reports")

    copy = send(api, f"{WORKFLOWS}/samples/chatbot/copy?folder={folder['id']}", {}).json()
    twin = send(api, f"{WORKFLOWS}/{copy['id']}/duplicate", {}).json()

    assert (copy["folder"], twin["folder"]) == (folder["id"], folder["id"])


def test_folder_of_another_team_is_not_there(api, carol, api_key):
    theirs = made(api_key(carol), "Theirs")
    address = f"{ROOT}/{theirs['id']}"

    answers = [
        send(api, address, {"name": "Mine"}, "patch"),
        api.delete(address),
        send(api, ROOT, {"name": "In", "parent": theirs["id"]}),
        send(api, WORKFLOWS, {"document": document(), "folder": theirs["id"]}),
        send(api, f"{WORKFLOWS}/samples/chatbot/copy?folder={theirs['id']}", {}),
        api.get(f"{WORKFLOWS}?folder={theirs['id']}"),
    ]

    assert [answer.status_code for answer in answers] == [404] * 6
    assert api.get(ROOT).json()["items"] == []


def test_key_that_may_only_read_arranges_nothing(alice, api, api_key):
    folder, reader = made(api, "Reports"), api_key(alice, scopes={"workflows:read"})

    assert [row["name"] for row in reader.get(ROOT).json()["items"]] == ["Reports"]
    assert send(reader, ROOT, {"name": "New"}).status_code == 403
    assert reader.delete(f"{ROOT}/{folder['id']}").status_code == 403
    with tenant([alice.team.pk]):
        assert Folder.objects.unscoped().count() == 1


@pytest.mark.parametrize("count", [1, 4])
def test_list_of_folders_takes_as_many_queries_for_one_as_for_four(
    count, api, django_assert_max_num_queries
):
    for number in range(count):
        made(api, f"Folder {number}")

    with django_assert_max_num_queries(10):
        assert len(api.get(ROOT).json()["items"]) == count
