"""Home: numbers of the last days, what needs attention, what was learned, and the models."""

from datetime import timedelta
from typing import Any

from django.urls import reverse
from django.utils import timezone

from accounts.tenancy import tenant
from memory.services import MemoryCaller, remember
from tests.factories.workflows import make_run, make_workflow
from tests.support.cast import Cast, Person
from workflows.models import ModelProvider, Run, RunWait


HOME = reverse("home")


def ended(person: Person, **fields: Any) -> Any:
    given = {"status": "succeeded", "elapsed": 0.4, "finished_at": timezone.now(), **fields}
    return make_run(person, make_workflow(person), **given)


def context_of(person: Person) -> Any:
    response = person.client.get(HOME)
    assert response.status_code == 200
    return response.context


def values(person: Person) -> dict[str, str]:
    return {str(tile.label): tile.value for tile in context_of(person)["usage"].tiles}


def test_numbers_are_the_teams_for_its_admins_and_ones_own_for_others(cast: Cast):
    ended(cast.alice)
    ended(cast.bob, status="failed")

    assert values(cast.ada)["Runs"] == "2"
    assert values(cast.ada)["Errors"] == "1"
    assert (values(cast.bob)["Runs"], values(cast.bob)["Latency (median)"][-2:]) == ("1", "ms")
    assert values(cast.vic)["Runs"] == "0"


def test_number_of_errors_leads_to_the_runs_that_it_counts(cast: Cast):
    run = ended(cast.bob, status="failed")
    ended(cast.bob)

    for person, page in ((cast.ada, "team_runs"), (cast.bob, "runs")):
        urls = [tile.url for tile in context_of(person)["usage"].tiles]
        assert [bool(url) for url in urls] == [False, True, False, False]
        assert urls[1].startswith(f"{reverse(f'workflows:{page}')}?")
        assert f'href="{urls[1].replace("&", "&amp;")}"' in person.client.get(HOME).content.decode()
        listed = person.client.get(urls[1]).content.decode()
        assert listed.count(f"/runs/{run.pk}/") > 0 or page == "team_runs"
        assert listed.count("pill-bad") == 1

    assert [tile.url for tile in context_of(cast.vic)["usage"].tiles] == [""] * 4


def test_each_plot_has_a_bar_for_each_day_and_a_text_alternative(alice: Person):
    ended(alice)

    page = alice.client.get(HOME).content.decode()
    tiles = context_of(alice)["usage"].tiles
    assert [len(tile.chart.bars) for tile in tiles] == [14] * 4
    assert page.count('role="img"') == 4
    assert "Runs per day." in page


def test_attention_names_the_questions_of_ones_own_runs(cast: Cast):
    run = make_run(cast.bob, make_workflow(cast.bob, "Holiday request"), status="paused")
    with tenant([run.team_id]):
        RunWait.objects.create(team_id=run.team_id, run=run, node_key="ask", form={})

    assert [wait.run for wait in context_of(cast.bob)["attention"].questions] == [run]
    assert context_of(cast.alice)["attention"].is_empty


def test_attention_counts_the_failed_runs_of_today_and_leads_to_them(cast: Cast):
    failed = ended(cast.bob, status="failed")
    earlier = ended(cast.bob, status="failed")
    with tenant([earlier.team_id]):
        Run.objects.unscoped().filter(pk=earlier.pk).update(
            created_at=timezone.now() - timedelta(days=2)
        )

    page = cast.bob.client.get(HOME).content.decode()

    assert context_of(cast.bob)["attention"].failed_today == 1
    assert "Runs that failed today" in page
    url = context_of(cast.bob)["attention"].failed_url
    assert f'href="{url.replace("&", "&amp;")}"' in page
    listed = cast.bob.client.get(url).content.decode()
    assert f"/runs/{failed.pk}/" in listed
    assert f"/runs/{earlier.pk}/" not in listed
    assert context_of(cast.vic)["attention"].is_empty


def test_attention_counts_the_memories_to_review(alice: Person):
    identity = {"user_id": str(alice.user.pk)}
    caller = MemoryCaller(alice.principal, alice.team.pk, identity=identity)
    remember(caller, scope="user", key="k", value="Likes tea", tier="quarantine")

    context = context_of(alice)
    assert context["attention"].review_count == 1
    assert [(row.text, row.is_pending) for row in context["memories"]] == [("Likes tea", True)]


def test_models_are_shown_to_people_who_may_use_them(cast: Cast):
    with tenant([cast.team_a.pk]):
        ModelProvider.objects.create(
            team=cast.team_a, name="acme", kind="openai_compatible", base_url="https://a.example/v1"
        )

    assert [row.name for row in context_of(cast.bob)["providers"]] == ["acme"]
    assert context_of(cast.vic)["providers"] is None
    assert list(context_of(cast.carol)["providers"]) == []


def test_models_card_says_what_the_last_test_of_each_provider_found(alice: Person):
    with tenant([alice.team.pk]):
        for name, checked_at, error in (
            ("fresh", None, ""),
            ("good", timezone.now(), ""),
            ("gone", timezone.now(), "No route to host"),
        ):
            ModelProvider.objects.create(
                team=alice.team,
                name=name,
                kind="openai_compatible",
                base_url="https://models.example/v1",
                checked_at=checked_at,
                check_error=error,
            )

    page = alice.client.get(HOME).content.decode()

    card = page[page.index('id="models-title"') :]
    words = [
        card[card.index(f">{name}<") :].split("pill", 1)[1] for name in ("fresh", "good", "gone")
    ]
    assert [word[word.index(">") + 1 : word.index("<")] for word in words] == [
        "Not tested",
        "Connected",
        "Not reachable",
    ]
    assert f"{reverse('workflows:usage')}?by=model" in card
