"""Memory through real workers does not feed on itself: what is asked a hundred times is not learnt a hundred times."""

from collections import Counter
from typing import Any

import pytest

from accounts.tenancy import tenant
from memory.models import Curation, Entry
from memory.public import LearningRule, set_learning_rule
from tests.durability.conftest import Cluster
from tests.memory.services.conftest import at_door
from tests.support.cast import Cast, Person
from workflows.llm.offline import LABELS
from workflows.models import Run, Workflow
from workflows.samples.catalogue import SAMPLES
from workflows.services.catalog import importing
from workflows.services.runs.runs import start_run


TOLD = {
    "en": [
        "I'm Zoe, and I'm allergic to walnuts.",
        "My cat is called Mimi.",
        "I work in Berlin on Mondays.",
        "My sister is allergic to peanuts.",
    ],
    "zh": ["我喜欢在周末爬山。", "我的猫叫咪咪。", "我对花生过敏。", "我妹妹对核桃过敏。"],
}
ASKED = {
    "en": [
        "What am I allergic to?",
        "Who is allergic, and to what?",
        "What is my cat called?",
        "Where do I work on Mondays?",
        "What do you know about me?",
    ],
    "zh": [
        "我喜欢做什么？",
        "谁过敏？",
        "我的猫叫什么名字？",
        "我对什么过敏？",
        "你知道我的什么？",
    ],
}


def chatbot(cast: Cast) -> Workflow:
    [sample] = [one for one in SAMPLES if one.slug == "chatbot"]
    made = importing.import_document(
        cast.alice.principal, team_id=cast.team_a.pk, source=sample.source
    ).workflow
    set_learning_rule(at_door(cast.alice), app_id=str(made.pk), learning=LearningRule(True))
    return made


def held(person: Person) -> Counter[Any]:
    """What memory holds of a person: what it says, and how often that was proved."""
    with tenant([person.team.pk]):
        rows = Entry.objects.unscoped().filter(
            namespace__text=f"user:{person.user.pk}", deleted_at=None
        )
        return Counter((str(row.value), row.metadata.get("proofs", 1)) for row in rows)


def curated(person: Person, run: Run) -> bool:
    with tenant([person.team.pk]):
        row = Curation.objects.unscoped().filter(run_id=str(run.pk)).first()
    assert row is None or row.status != "failed", row.problem
    return row is not None and row.status == "done"


@pytest.mark.parametrize(
    "rounds",
    [
        pytest.param(len(ASKED["en"]), id="each question twice"),
        pytest.param(25, id="a hundred", marks=pytest.mark.nightly),
    ],
)
def test_memory_after_many_questions_is_memory_after_the_telling(
    cluster: Cluster, cast: Cast, rounds: int
) -> None:
    """spec §8b: recalled text is never extracted again; the first sample, the shipped provider, two languages.

    A round is two questions by each of two people.
    """
    app = chatbot(cast)
    people = {"en": cast.alice, "zh": cast.bob}
    answers: list[str] = []
    cluster.start()

    def each_says(said: dict[str, list[str]]) -> None:
        runs = [
            (people[who], start_run(people[who].principal, workflow=app, query=text))
            for who, texts in said.items()
            for text in texts
        ]
        for person, run in runs:
            row = cluster.until_ended(run)
            assert row["status"] == "succeeded"
            answers.extend(map(str, row["outputs"].values()))
            cluster.until(lambda p=person, r=run: curated(p, r))

    for number in range(4):
        each_says({who: [texts[number]] for who, texts in TOLD.items()})
    before = {who: held(person) for who, person in people.items()}
    assert before == {who: Counter((text, 1) for text in texts) for who, texts in TOLD.items()}
    for number in range(rounds):
        each_says(
            {
                who: [texts[number % len(texts)], texts[(number + 2) % len(texts)]]
                for who, texts in ASKED.items()
            }
        )
    assert {who: held(person) for who, person in people.items()} == before
    for label in LABELS.values():  # what it must not learn was there to be learnt
        assert any(label in one and "” “" in one for one in answers)

    each_says({who: [texts[1]] for who, texts in TOLD.items()})

    # Said twice: what memory knows already is not stored again.
    assert {who: held(person) for who, person in people.items()} == before
