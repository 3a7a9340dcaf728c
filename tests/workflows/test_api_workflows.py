"""The workflow routes of the API, as a programme with a key uses them."""

import pytest
import yaml

from accounts.tenancy import tenant
from tests.factories.workflows import document
from workflows.models import Run, Workflow


pytestmark = pytest.mark.django_db

ROOT = "/api/v1/workflows"


@pytest.fixture
def api(alice, api_key):
    return api_key(alice)


def post(client, path, body, method="post"):
    return getattr(client, method)(path, data=body, content_type="application/json")


def created(client, source=None, **more):
    answer = post(client, ROOT, {"document": source or document(), **more})
    assert answer.status_code == 201, answer.content
    return answer.json()["workflow"]


def test_document_created_read_exported_and_validated(api, alice):
    made = created(api, name="Mine")

    read = api.get(f"{ROOT}/{made['id']}").json()
    text = api.get(f"{ROOT}/{made['id']}/export?dialect=dify")
    flat = api.get(f"{ROOT}/{made['id']}/export?format=json")
    report = post(api, f"{ROOT}/{made['id']}/validate", {}).json()

    assert (made["name"], made["team_id"], made["revision"]) == ("Mine", str(alice.team.pk), 1)
    assert [node["id"] for node in read["document"]["nodes"]] == ["start", "end"]
    assert yaml.safe_load(text.content)["app"]["name"] == "Mine"
    assert (text["Content-Type"], flat.json()["version"]) == (
        "application/yaml; charset=utf-8",
        "0.1.0",
    )
    assert report["valid"] is True


def test_document_given_as_text_is_the_same_as_given_as_an_object(api):
    one, other = created(api), created(api, yaml.safe_dump(document()))

    documents = [api.get(f"{ROOT}/{row['id']}").json()["document"] for row in (one, other)]

    assert documents[0]["nodes"] == documents[1]["nodes"]


def test_import_starts_nothing(api, alice):
    created(api)

    with tenant([alice.team.pk]):
        assert not Run.objects.unscoped().exists()


def test_wrong_document_is_answered_with_every_problem_at_its_place(api):
    wrong = document()
    wrong["nodes"].append({"id": "a", "data": {"type": "llm", "model": "none"}})
    wrong["edges"].append({"id": "e9", "source": "end", "target": "nowhere"})

    report = post(api, f"{ROOT}/validate", {"document": wrong}).json()

    assert report["valid"] is False
    places = {(p["node"], p["edge"]) for p in report["problems"] if p["severity"] == "error"}
    assert {("a", None), (None, "e9")} <= places


def test_unreadable_document_is_422_and_named(api):
    answer = post(api, ROOT, {"document": "a: [1"})

    assert answer.status_code == 422
    assert answer.json()["error"]["type"] == "DocumentInvalid"
    assert answer.json()["error"]["problems"][0]["code"].startswith("document.")


def test_newer_document_is_409_until_confirmed(api):
    newer = {
        "version": "0.99.0",
        "kind": "app",
        "app": {"name": "N", "mode": "workflow"},
        "workflow": {"graph": {"nodes": [], "edges": []}},
    }

    assert post(api, ROOT, {"document": newer}).status_code == 409
    assert post(api, ROOT, {"document": newer, "confirm_newer": True}).status_code == 201


@pytest.mark.parametrize("field", ["team", "team_id", "id", "created_by", "revision"])
def test_field_that_is_not_the_callers_to_set_is_refused(field, api, carol):
    answer = post(api, ROOT, {"document": document(), field: str(carol.team.pk)})

    assert answer.status_code == 422


def test_published_versions_are_listed_and_read(api):
    made = created(api)

    first = post(api, f"{ROOT}/{made['id']}/publish", {"note": "first"})
    again = post(api, f"{ROOT}/{made['id']}/publish", {})
    other = document("Two")
    post(api, f"{ROOT}/{made['id']}/draft", {"document": other}, "put")
    post(api, f"{ROOT}/{made['id']}/publish", {})

    listed = api.get(f"{ROOT}/{made['id']}/versions").json()["items"]
    old = api.get(f"{ROOT}/{made['id']}/versions/1").json()
    assert (first.status_code, again.status_code) == (201, 409)
    assert [(v["number"], v["published"]) for v in listed] == [(2, True), (1, False)]
    assert (old["note"], old["document"]["nodes"][0]["data"]["title"]) == ("first", "Echo")


def test_archived_workflow_is_listed_only_when_asked_for(api):
    made = created(api)

    assert api.delete(f"{ROOT}/{made['id']}").status_code == 204
    assert api.get(ROOT).json() == {"items": [], "next": None, "count": 0}
    assert [row["id"] for row in api.get(f"{ROOT}?archived=true").json()["items"]] == [made["id"]]


def test_archived_workflow_is_read_and_exported_takes_no_edits_and_is_restored(api):
    at = f"{ROOT}/{created(api)['id']}"
    api.delete(at)

    read = api.get(at)
    exported = api.get(f"{at}/export")
    renamed = post(api, at, {"name": "x"}, "patch")
    again = api.delete(at)
    restored = post(api, f"{at}/restore", {})

    assert (read.status_code, read.json()["archived"]) == (200, True)
    assert (exported.status_code, renamed.status_code, again.status_code) == (200, 409, 409)
    assert (restored.status_code, restored.json()["archived"]) == (200, False)
    assert [row["id"] for row in api.get(ROOT).json()["items"]] == [restored.json()["id"]]
    assert post(api, f"{at}/restore", {}).status_code == 200


def test_sample_copied_and_duplicated(api):
    slugs = [sample["slug"] for sample in api.get(f"{ROOT}/samples").json()["items"]]
    copy = post(api, f"{ROOT}/samples/chatbot/copy", {}).json()
    twin = post(api, f"{ROOT}/{copy['id']}/duplicate", {"name": "Twin"}).json()

    assert slugs[0] == "chatbot"
    assert len(slugs) == 20  # eighteen, and two building blocks
    assert (copy["sample"], twin["name"], twin["sample"]) == ("chatbot", "Twin", "chatbot")
    assert post(api, f"{ROOT}/samples/none/copy", {}).status_code == 404


def test_key_that_may_only_read_creates_nothing(alice, api_key):
    reader = api_key(alice, scopes={"workflows:read"})

    assert reader.get(ROOT).status_code == 200
    assert post(reader, ROOT, {"document": document()}).status_code == 403
    with tenant([alice.team.pk]):
        assert not Workflow.objects.unscoped().exists()


def test_key_is_never_given_secrets(api, alice):
    made = created(api)

    assert api.get(f"{ROOT}/{made['id']}/export?include_secrets=true").status_code == 403


@pytest.mark.parametrize("count", [1, 3])
def test_list_takes_as_many_queries_for_one_as_for_three(
    count, alice, api, django_assert_max_num_queries
):
    for _ in range(count):
        post(api, f"{ROOT}/{created(api)['id']}/publish", {})

    with django_assert_max_num_queries(11):
        assert len(api.get(ROOT).json()["items"]) == count


def test_workflow_whose_runs_would_fail_is_published_only_if_that_is_confirmed(api):
    broken = document()
    broken["nodes"].insert(1, {"id": "drive", "data": {"type": "datasource", "title": "Drive"}})
    broken["edges"] = [
        {"source": "start", "target": "drive"},
        {"source": "drive", "target": "end"},
    ]
    publish = f"{ROOT}/{created(api, broken)['id']}/publish"

    refused = post(api, publish, {})
    published = post(api, publish, {"confirm_failing": True})

    assert (refused.status_code, refused.json()["error"]["type"]) == (409, "PublishingUnconfirmed")
    assert [each["node"] for each in refused.json()["error"]["problems"]] == ["drive"]
    assert (published.status_code, published.json()["number"]) == (201, 1)
