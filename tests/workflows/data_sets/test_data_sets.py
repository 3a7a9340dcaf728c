"""Data sets: their cases, files, pages and API."""

import json
import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.models import AuditEntry
from accounts.tenancy import tenant
from tests.factories.workflows import make_workflow
from tests.support.cast import Cast, Person
from tests.workflows.usage.test_counting import make_ended
from workflows.errors import InvalidValue
from workflows.models import DataCase, DataSet
from workflows.services.data_sets.cases import add_cases, make_case
from workflows.services.data_sets.data_sets import save_data_set
from workflows.services.data_sets.files import detect_format, read_cases, write_jsonl


pytestmark = pytest.mark.django_db


@pytest.fixture
def data_set(alice: Person) -> DataSet:
    return save_data_set(alice.principal, team_id=alice.team.pk, name="Greetings")


def list_cases(data_set: DataSet) -> list[tuple[str, Any, Any]]:
    with tenant([data_set.team_id]):
        rows = DataCase.objects.unscoped().filter(data_set=data_set).order_by("rank")
        return [(row.query, row.inputs, row.expected) for row in rows]


def test_csv_columns_are_inputs() -> None:
    cases = read_cases('\ufeffquery,city,expected\n"Where?",Lyon,France\n,Bonn,\n', "csv")

    assert cases == [
        make_case("Where?", {"city": "Lyon"}, "France"),
        make_case("", {"city": "Bonn"}, None),
    ]


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("query\na,b\n", "csv", "Row 2: more cells"),
        ('{"query": "a"}\n{no\n', "jsonl", "Row 2: this is not valid JSON"),
        ("[1]", "jsonl", "Row 1: a case must be an object"),
        ('{"expected": "a"}', "jsonl", "Row 1: A case needs a message or inputs"),
        ("", "csv", "no cases"),
        (f"query\n{'x' * 200_000}\n", "csv", "Row 2: field larger than field limit"),
        (f"{'x' * 200_000}\na\n", "csv", "Row 1: field larger than field limit"),
        ('query\n"open', "csv", "Row 2: unexpected end of data"),
        ('"open', "csv", "Row 1: unexpected end of data"),
        ('{"query": "a", "inputs": {"n": NaN}}', "jsonl", "Row 1: this is not valid JSON"),
        ('{"query": "a"}\n{"query": "b", "expected": Infinity}', "jsonl", "Row 2: this is not"),
        ('[{"query": "a", "expected": -Infinity}]', "jsonl", "Row 1: this is not valid JSON"),
        ('{"query": "a", "expected": 1e999}', "jsonl", "Row 1: this is not valid JSON"),
        ('{"query": "\\ud800"}', "jsonl", "Row 1: this is not valid JSON"),
        ('{"query": ' * 5000, "jsonl", "Row 1: this is not valid JSON"),
    ],
)
def test_invalid_file_names_the_row(text: str, kind: Any, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        read_cases(text, kind)


def test_exported_cases_can_be_imported_again(alice: Person, data_set: DataSet) -> None:
    values = [make_case("Hi?", {"n": 1}, {"a": [1]}), make_case("Ho?", {}, "x")]
    rows = add_cases(alice.principal, data_set, values)

    assert read_cases(write_jsonl(rows), detect_format("", write_jsonl(rows))) == values


@pytest.mark.parametrize("separator", ["\u2028", "\x85", "\x0c"])
def test_text_with_an_unusual_line_separator_comes_back_from_a_file(separator: str) -> None:
    """JSON may contain them as they are, and only a line feed ends a line of JSON Lines."""
    line = json.dumps({"query": f"one{separator}two"}, ensure_ascii=False)

    (case,) = read_cases(f"{line}\r\n", "jsonl")

    assert case.turns[-1].say == f"one{separator}two"


@pytest.mark.parametrize("page", ["/data-sets/{}/cases.jsonl", "/api/v1/data-sets/{}/export"])
def test_export_of_cases_is_in_the_audit_trail(alice: Person, data_set: DataSet, page: str) -> None:
    add_cases(alice.principal, data_set, [make_case("Hi?", {}, "x")])

    answer = alice.client.get(page.format(data_set.pk))

    with tenant([alice.team.pk]):
        entry = AuditEntry.objects.unscoped().get(action="data_set.exported")
    assert answer.status_code == 200
    assert json.loads(answer.content)["query"] == "Hi?"
    assert (entry.actor, entry.detail) == (alice.principal.actor, {"count": 1})


def test_pages_create_import_edit_and_delete(alice: Person) -> None:
    client = alice.client
    created = client.post("/data-sets/", {"name": "Greetings"})
    url = created.headers["Location"]
    twice = client.post("/data-sets/", {"name": "Greetings"})
    client.post(f"{url}cases/add/", {"query": "Hi?", "expected": "Hello"})
    wrong = client.post(f"{url}cases/add/", {"inputs": "{no"})
    upload = SimpleUploadedFile("a.csv", b"query,expected\nHo?,Ho\n")
    client.post(f"{url}cases/import/", {"file": upload})
    page = client.get(url).content.decode()
    with tenant([alice.team.pk]):
        case = DataCase.objects.unscoped().select_related("data_set").order_by("rank")[0]
    typed = {"name": "Greets", "turn-0-person": "", "turn-0-say": "Hi!", "expected": '["a"]'}
    client.post(f"{url}cases/{case.pk}/", typed)
    data_set = case.data_set
    edited = list_cases(data_set)
    client.post(f"{url}cases/{case.pk}/delete/")

    assert (twice.status_code, wrong.status_code) == (422, 422)
    assert "Inputs: this is not valid JSON." in wrong.content.decode()
    assert "Ho?" in page
    assert edited == [("Hi!", {}, ["a"]), ("Ho?", {}, "Ho")]
    assert list_cases(data_set) == [("Ho?", {}, "Ho")]
    assert client.post(f"{url}delete/").status_code == 302
    assert client.get(url).status_code == 404


def test_a_run_becomes_a_case(alice: Person, data_set: DataSet) -> None:
    run = make_ended(alice, make_workflow(alice), inputs={"text": "hi"}, outputs={"text": "ho"})

    page = alice.client.get(f"/runs/{run.pk}/").content.decode()
    alice.client.post(f"/runs/{run.pk}/add-to-data-set/", {"data_set": str(data_set.pk)})

    assert "Add to dataset" in page
    assert list_cases(data_set) == [("", {"text": "hi"}, "ho")]


def test_api_manages_data_sets(cast: Cast) -> None:
    client: Any = cast.alice.client
    body = {"content_type": "application/json"}
    data_set = client.post("/api/v1/data-sets", {"name": "Greetings"}, **body).json()
    url = f"/api/v1/data-sets/{data_set['id']}"
    cases = client.post(
        f"{url}/cases", {"cases": [{"query": "Hi?", "expected": "hi"}]}, **body
    ).json()
    client.post(f"{url}/import", {"text": "query\nHo?\n", "format": "csv"}, **body)
    client.put(
        f"{url}/cases/{cases[0]['id']}", {"inputs": {"text": "hi"}, "expected": "hi"}, **body
    )
    workflow = make_workflow(cast.alice)
    started = client.post(f"{url}/evaluations", {"workflow": str(workflow.pk)}, **body)
    evaluation = client.get(f"/api/v1/evaluations/{started.json()['id']}").json()
    stopped = client.post(f"/api/v1/evaluations/{evaluation['id']}/cancel", {}, **body).json()

    assert data_set["cases"] == 0
    assert started.status_code == 202
    assert len(evaluation["results"]) == 2
    assert stopped["status"] == "stopped"
    assert client.get(f"{url}/evaluations").json()["items"][0]["id"] == evaluation["id"]
    exported = [json.loads(line) for line in client.get(f"{url}/export").content.splitlines()]
    assert [row["inputs"] for row in exported] == [{"text": "hi"}, {}]
    assert cast.carol.client.get(f"{url}/cases").status_code == 404


def test_columns_that_are_empty_in_every_row_are_left_out(alice: Person, data_set: DataSet) -> None:
    def read_heads() -> list[str]:
        html = alice.client.get(f"/data-sets/{data_set.pk}/").content.decode()
        table = html[html.index("<table") : html.index("</thead>")]
        return re.findall(r'<th scope="col">([^<]+)</th>', table)

    add_cases(alice.principal, data_set, [make_case("Where?", {}, None)])
    without = read_heads()
    add_cases(alice.principal, data_set, [make_case("", {"city": "Bonn"}, "Germany")])

    assert without == ["Message"]
    assert read_heads() == ["Message", "Inputs", "Expected answer"]
