"""Saved test cases through the service, the API, the page and the shell; run by a real worker's code."""

import json
import re
from uuid import UUID

import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from accounts.tenancy import tenant
from tests.factories.workflows import make_conversation, make_run, make_workflow
from tests.support.cast import Cast, Person
from tests.support.markup import markup_of
from workflows.execution.evaluation.running import run_next_case
from workflows.models import DataCase, EvaluationResult, RunEvent, WorkflowSecret
from workflows.services.debugging import cases
from workflows.services.samples import samples
from workflows.views.editor.debugging.case_form import build_form, read_form


CHAT = {
    "version": "0.6.0",
    "kind": "app",
    "app": {"name": "Memory", "mode": "advanced-chat"},
    "workflow": {
        "graph": {
            "nodes": [
                {"id": "start", "data": {"type": "start", "variables": []}},
                {
                    "id": "recall",
                    "data": {
                        "type": "memory-recall",
                        "scope": "user",
                        "query_selector": ["sys", "query"],
                    },
                },
                {"id": "say", "data": {"type": "answer", "answer": "{{#recall.count#}} known"}},
            ],
            "edges": [
                {"id": "a", "source": "start", "target": "recall"},
                {"id": "b", "source": "recall", "target": "say"},
            ],
        }
    },
}
GOOD = {
    "name": "Knows the cat",
    "memories": [{"key": "pet", "value": "a cat", "person": "ana"}],
    "turns": [{"say": "cat", "person": "ana", "checks": [{"of": "answer", "value": "1 known"}]}],
}
BAD = {"name": "Knows a dog", "say": "dog", "checks": [{"of": "answer", "value": "1 known"}]}


@pytest.fixture
def chat(alice: Person):
    return make_workflow(alice, source=CHAT)


def kept(person: Person, workflow, spec):
    return cases.save_case(person.principal, workflow=workflow, spec=spec)


def stored(workflow) -> list[DataCase]:
    with tenant([workflow.team_id]):
        return list(DataCase.objects.unscoped().filter(data_set__workflow=workflow))


def run_all(team_id: UUID, evaluation_id: UUID) -> None:
    while run_next_case(team_id, evaluation_id):
        pass


def run_now(person: Person, workflow, chosen) -> list[EvaluationResult]:
    """What the worker does with the message, here."""
    made = cases.run_cases(person.principal, workflow=workflow, cases=chosen)
    run_all(workflow.team_id, made[0].evaluation_id)
    with tenant([workflow.team_id]):
        return [EvaluationResult.objects.unscoped().get(pk=result.pk) for result in made]


@pytest.mark.django_db(transaction=True)
def test_case_passes_and_another_fails_with_what_there_was(alice: Person, chat):
    good, bad = run_now(alice, chat, [kept(alice, chat, GOOD), kept(alice, chat, BAD)])

    assert good.verdict == "passed"
    assert bad.verdict == "failed"
    assert bad.detail["turns"][0]["findings"][0]["actual"] == "0 known"
    assert [step["node"] for step in bad.detail["turns"][0]["steps"]] == ["start", "recall", "say"]


@pytest.mark.django_db(transaction=True)
def test_case_touches_no_real_memory(alice: Person, chat):
    from memory.models import Entry

    run_now(alice, chat, [kept(alice, chat, GOOD)])

    with tenant([chat.team_id]):
        assert not Entry.objects.unscoped().exists()


@pytest.mark.django_db(transaction=True)
def test_result_is_run_once_though_the_message_comes_twice(alice: Person, chat):
    (done,) = run_now(alice, chat, [kept(alice, chat, GOOD)])

    run_next_case(chat.team_id, done.evaluation_id)

    with tenant([chat.team_id]):
        assert EvaluationResult.objects.unscoped().get(pk=done.pk).finished_at == done.finished_at


@pytest.mark.django_db(transaction=True)
def test_secret_in_an_output_is_masked_in_the_result(alice: Person):
    from config.encryption.crypto import encrypt

    source = json.loads(json.dumps(CHAT))
    source["workflow"]["environment_variables"] = [
        {"id": "k", "name": "KEY", "value_type": "secret", "value": "", "selector": ["env", "KEY"]}
    ]
    source["workflow"]["graph"]["nodes"][2]["data"]["answer"] = "key {{#env.KEY#}}"
    workflow = make_workflow(alice, source=source)
    with tenant([workflow.team_id]):
        WorkflowSecret.objects.create(
            team_id=workflow.team_id,
            workflow=workflow,
            area="environment",
            name="KEY",
            secret=encrypt("correct-horse"),
        )
    case = kept(alice, workflow, {"name": "x", "say": "hi", "checks": [{"of": "answer", "value": "correct-horse"}]})  # fmt: skip

    (result,) = run_now(alice, workflow, [case])

    assert result.verdict == "passed"  # the check saw it
    assert "correct-horse" not in json.dumps(result.detail["turns"][0]["outputs"])


@pytest.mark.django_db
def test_run_becomes_a_case_that_asks_for_the_same(alice: Person, chat):
    run = make_run(
        alice,
        chat,
        system={"query": "hello"},
        outputs={"answer": "0 known", "files": []},
        status="succeeded",
        finished_at=timezone.now(),
    )

    entry = {"id": "1", "key": "diet", "value": "no peanuts", "score": 0.5}
    with tenant([run.team_id]):
        RunEvent.objects.create(
            team_id=run.team_id,
            run=run,
            seq=1,
            name="memory_recalled",
            data={"scope": "user", "namespace": "user:x", "entries": [entry, entry]},
        )

    case = cases.dump_case(cases.build_case_from_run(run))

    assert case["turns"][0]["say"] == "hello"
    assert [(each["key"], each["value"]) for each in case["memories"]] == [("diet", "no peanuts")]
    assert {"of": "output.answer", "operator": "is", "value": "0 known"} in case["turns"][0][
        "checks"
    ]


@pytest.mark.django_db
def test_two_cases_of_one_name_are_refused(alice: Person, chat):
    kept(alice, chat, GOOD)

    answer = alice.client.post(
        f"/api/v1/workflows/{chat.pk}/tests", {"case": GOOD}, content_type="application/json"
    )

    assert answer.status_code == 409


@pytest.mark.django_db(transaction=True)
def test_api_writes_runs_and_reads_cases(alice: Person, chat):
    base = f"/api/v1/workflows/{chat.pk}/tests"
    made = alice.client.post(base, {"case": GOOD}, content_type="application/json").json()
    queued = alice.client.post(f"{base}/run", {}, content_type="application/json")
    assert queued.status_code == 202
    with tenant([chat.team_id]):
        result = EvaluationResult.objects.unscoped().get(pk=queued.json()[0]["id"])
    run_all(chat.team_id, result.evaluation_id)

    (listed,) = alice.client.get(base).json()["items"]
    assert listed["id"] == made["id"]
    assert listed["last"]["status"] == "passed"
    assert alice.client.get(f"{base}/results/{listed['last']['id']}").json()["detail"]["turns"]
    changed = alice.client.put(
        f"{base}/{made['id']}",
        {"case": {**GOOD, "name": "Another"}},
        content_type="application/json",
    )
    assert changed.json()["name"] == "Another"
    assert alice.client.delete(f"{base}/{made['id']}").status_code == 204
    assert alice.client.get(base).json()["items"] == []


@pytest.mark.django_db
def test_api_names_the_field_that_is_wrong(alice: Person, chat):
    answer = alice.client.post(
        f"/api/v1/workflows/{chat.pk}/tests",
        {"case": {"name": "x", "checks": [{"of": "moon"}]}},
        content_type="application/json",
    )

    assert answer.status_code == 422
    assert "turns.0.checks.0.of" in markup_of(answer)


@pytest.mark.django_db
def test_viewer_sees_cases_and_changes_none(cast: Cast):
    workflow = make_workflow(cast.alice, source=CHAT)
    kept(cast.alice, workflow, GOOD)
    vic = cast.people["vic"].client

    assert "Knows the cat" in markup_of(vic.get(reverse("workflows:tests", args=[workflow.pk])))
    assert vic.post(reverse("workflows:run_tests", args=[workflow.pk])).status_code == 403
    assert vic.get(reverse("workflows:new_test", args=[workflow.pk])).status_code == 403


@pytest.mark.django_db
def test_cases_that_never_ran_are_called_so_and_not_counted_as_failed(cast: Cast):
    workflow = make_workflow(cast.alice, source=CHAT)
    kept(cast.alice, workflow, GOOD)

    page = markup_of(cast.alice.client.get(reverse("workflows:tests", args=[workflow.pk])))

    assert "data-tests-passed>Not run yet<" in page
    assert "passed<" not in page


@pytest.mark.django_db
def test_form_saves_what_was_typed_and_grows_a_row(alice: Person, chat):
    place = reverse("workflows:new_test", args=[chat.pk])
    typed = {
        "name": "By hand",
        "turn-0-say": "hello",
        "turn-0-person": "",
        "turn-0-check-0-of": "recalled.count",
        "turn-0-check-0-operator": "=",
        "turn-0-check-0-value": "0",
        "turn-0-check-1-of": "",
        "more": "memories:\n  - {key: pet, value: a cat}\n",
    }

    grown = markup_of(alice.client.post(place, {**typed, "add": "turn"}))
    assert 'name="turn-1-say"' in grown
    assert not stored(chat)

    alice.client.post(place, typed)
    (case,) = stored(chat)
    assert case.spec["turns"][0]["checks"] == [
        {"of": "recalled.count", "operator": "=", "value": 0}
    ]
    assert case.spec["memories"][0]["value"] == "a cat"

    shown = markup_of(alice.client.get(reverse("workflows:test", args=[chat.pk, case.pk])))
    assert "a cat" in shown
    assert re.search(r'value="recalled.count"\s+selected', shown)


@pytest.mark.django_db
def test_check_is_chosen_from_a_list_with_the_parts_of_the_draft(alice: Person, chat):
    page = markup_of(alice.client.get(reverse("workflows:new_test", args=[chat.pk])))

    row = page.split('class="tests-check"')[1]
    values = re.findall(r'<option\s+value="([^"]*)"', row)
    expected = {"answer", "output.answer", "recalled", "status", "step.recall.status", "other"}
    assert expected < {*values}
    assert "is at least" in row
    assert ">≥<" not in row
    # Nothing is chosen for a person who only writes a message.
    assert page.count('class="tests-check"') == 1
    assert values[0] == ""


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("check", "sentence"),
    [
        ({"of": "answer", "value": ""}, "Turn 1, check 1: enter the expected value"),
        ({"of": "", "value": "blue"}, "Turn 1, check 1: choose what to check"),
        ({"of": "other", "path": "moon", "value": "x"}, "Turn 1, check 1: choose what to check"),
    ],
)
def test_check_that_is_not_finished_says_so_at_its_row(alice: Person, chat, check, sentence):
    place = reverse("workflows:new_test", args=[chat.pk])
    typed = {"name": "Mine", "turn-0-say": "hi", "turn-0-person": ""}
    typed |= {f"turn-0-check-0-{part}": value for part, value in check.items()}

    answer = alice.client.post(place, typed)

    page = markup_of(answer)
    assert answer.status_code == 422
    assert sentence in page.split('class="tests-check"')[1]
    assert 'aria-describedby="turn-0-check-0-error"' in page
    assert page.index(sentence) > page.index('name="turn-0-say"')
    assert 'name="turn-0-check-0-value"' in page
    assert not stored(chat)


@pytest.mark.django_db
def test_empty_check_and_a_path_of_ones_own_are_saved_as_they_are_meant(alice: Person, chat):
    typed = {
        "name": "Mine",
        "turn-0-say": "hi",
        "turn-0-person": "",
        "turn-0-check-0-of": "",
        "turn-0-check-0-operator": "contains",
        "turn-0-check-0-value": "",
        "turn-0-check-1-of": "other",
        "turn-0-check-1-path": "output.items.0",
        "turn-0-check-1-operator": "not empty",
        "turn-0-check-1-value": "",
    }

    alice.client.post(reverse("workflows:new_test", args=[chat.pk]), typed)

    (case,) = stored(chat)
    assert case.spec["turns"][0]["checks"] == [{"of": "output.items.0", "operator": "not empty"}]
    shown = markup_of(alice.client.get(reverse("workflows:test", args=[chat.pk, case.pk])))
    assert 'value="output.items.0"' in shown
    assert re.search(r'value="other"\s+selected', shown)


@pytest.mark.django_db
def test_last_conversation_is_saved_as_a_test_with_its_turns(alice: Person, chat):
    place = reverse("workflows:new_test", args=[chat.pk])
    nothing = markup_of(alice.client.get(place, {"last": ""}))
    conversation = make_conversation(alice, chat)
    for number, query in enumerate(("I eat no nuts", "What may I eat?")):
        run = make_run(
            alice,
            chat,
            conversation=conversation,
            system={"query": query},
            outputs={"answer": f"answer {number}"},
            status="succeeded",
            finished_at=timezone.now(),
        )
        names = ["memory_written"] if number == 0 else ["memory_recalled"]
        entry = {"id": "1", "key": "nuts", "value": "no nuts", "score": 1}
        with tenant([run.team_id]):
            for name in names:
                RunEvent.objects.create(
                    team_id=run.team_id,
                    run=run,
                    seq=1,
                    name=name,
                    data={"scope": "user", "namespace": "u", "entry": entry, "entries": [entry]},
                )

    page = markup_of(alice.client.get(place, {"last": ""}))

    assert "There is no conversation yet." in nothing
    assert [text in page for text in ("I eat no nuts", "What may I eat?")] == [True, True]
    assert 'value="answer 1"' in page
    # The first turn writes it, so the case doesn't begin with it.
    assert 'name="memory-0-text"' not in page


@pytest.mark.django_db
def test_conversation_that_is_seen_is_saved_and_not_a_newer_one(alice: Person, chat):
    place = reverse("workflows:new_test", args=[chat.pk])
    seen, newer = (make_conversation(alice, chat, key=key) for key in ("seen", "newer"))
    for conversation, query in ((seen, "How old is Rome?"), (newer, "And Athens?")):
        make_run(
            alice,
            chat,
            conversation=conversation,
            system={"query": query},
            outputs={"answer": "old"},
            status="succeeded",
            finished_at=timezone.now(),
        )

    pages = [
        markup_of(alice.client.get(place, {"last": "", "conversation": key, "person": ""}))
        for key in ("seen", "newer", "", "unknown")
    ]

    said = [[query in page for query in ("How old is Rome?", "And Athens?")] for page in pages]
    assert said == [[True, False], [False, True], [False, False], [False, False]]
    assert ["There is no conversation yet." in page for page in pages] == [False, False, True, True]


@pytest.mark.django_db
def test_button_sends_the_conversation_that_the_chat_shows(alice: Person, chat):
    page = markup_of(alice.client.get(reverse("workflows:tests", args=[chat.pk])))

    assert 'hx-include="#chat-place"' in page


@pytest.mark.django_db
def test_empty_list_offers_the_conversation_before_a_command(alice: Person, chat):
    page = markup_of(alice.client.get(reverse("workflows:tests", args=[chat.pk])))

    assert page.index("Save this conversation as a test") < page.index("manage.py test_workflow")
    assert page.index("<details") < page.index("manage.py test_workflow")


def test_form_keeps_what_it_has_no_fields_for():
    spec = {
        "name": "Asks",
        "turns": [{"say": "hi", "checks": [], "answers": [{"action": "yes"}], "group": "g"}],
        "memories": [
            {"key": "pet", "value": "a cat", "scope": "global"},
            {"key": "page", "value": {"title": "Cats"}, "metadata": {"category": "page"}},
        ],
        "expected": ["a", 1],
    }
    form = build_form(spec)
    typed = {"name": form.name, "expected": form.expected, "more": form.more}
    typed |= {f"turn-0-{key}": getattr(form.turns[0], key) for key in ("say", "person", "rest")}
    typed |= {f"memory-0-{key}": getattr(form.memories[0], key) for key in ("text", "scope", "key")}

    assert read_form(typed).build_spec() == spec


@pytest.mark.django_db
@pytest.mark.parametrize(
    "typed",
    [
        {"turn-0-inputs": "{", "turn-0-person": ""},
        {"turn-0-person": "", "more": "- a list"},
        {"turn-0-person": "", "turn-0-check-0-of": "moon"},
    ],
)
def test_form_that_is_wrong_says_so_and_keeps_what_was_typed(alice: Person, chat, typed):
    answer = alice.client.post(
        reverse("workflows:new_test", args=[chat.pk]), {"name": "Mine", **typed}
    )

    assert answer.status_code == 422
    assert 'value="Mine"' in markup_of(answer)
    assert 'role="alert"' in markup_of(answer)


@pytest.mark.django_db(transaction=True)
def test_shell_runs_the_cases_of_a_workflow(alice: Person, chat, capsys):
    kept(alice, chat, GOOD)
    call_command("test_workflow", str(chat.pk))
    assert "1 of 1 passed" in capsys.readouterr().out

    kept(alice, chat, BAD)
    with pytest.raises(SystemExit):
        call_command("test_workflow", str(chat.pk))
    assert "it was 0 known" in capsys.readouterr().out


def test_shell_runs_a_document_with_the_cases_beside_it(tmp_path, capsys):
    (tmp_path / "flow.yml").write_text(json.dumps(CHAT))
    (tmp_path / "flow.tests.yml").write_text(json.dumps([GOOD]))

    call_command("test_workflow", str(tmp_path / "flow.yml"), "--json")

    (report,) = json.loads(capsys.readouterr().out)
    assert report["passed"]


@pytest.mark.django_db
def test_case_of_a_copied_sample_runs_the_other_workflow(alice: Person):
    workflow = samples.copy_sample(alice.principal, team_id=alice.team.pk, slug="shop")
    (result,) = cases.run_cases(
        alice.principal, workflow=workflow, cases=stored(workflow)[:1], offline=True
    )

    run_next_case(workflow.team_id, result.evaluation_id)

    with tenant([workflow.team_id]):
        result.refresh_from_db()
    assert (result.verdict, result.problem) == ("passed", "")


@pytest.mark.django_db(transaction=True)
def test_cases_started_by_a_key_run_the_workflows_that_the_document_calls(cast: Cast, api_key):
    client = api_key(cast.alice)
    copy = client.post("/api/v1/workflows/samples/shop/copy", {}, content_type="application/json")
    place = f"/api/v1/workflows/{copy.json()['id']}/tests/run"

    answer = client.post(place, {}, content_type="application/json")

    assert answer.status_code in (200, 202)
    with tenant([cast.team_a.pk]):
        queued = set(EvaluationResult.objects.unscoped().values_list("evaluation_id", flat=True))
    for evaluation_id in queued:
        run_all(cast.team_a.pk, evaluation_id)
    with tenant([cast.team_a.pk]):
        rows = EvaluationResult.objects.unscoped().select_related("evaluation")
        results = list(rows.order_by("pk"))
    assert {result.evaluation.api_key_id for result in results} == {client.key.pk}
    assert [result.verdict for result in results] == ["passed"] * 3, results[0].detail
