"""Memory through MCP: by the key's scopes, about the person of the connection, and about nobody else."""

from collections.abc import Callable
from typing import Any

import pytest

from accounts.tenancy import tenant
from memory import services
from memory.models import Entry, Proposal
from memory.services.gateway.caller import MemoryCaller
from tests.support.cast import Cast, KeyClient
from tests.workflows.mcp_server.messages import ask, call, list_tool_names


pytestmark = pytest.mark.django_db(transaction=True)

Issue = Callable[..., KeyClient]
MIA, TOM = "/mcp/?user=mia", "/mcp/?user=tom"


@pytest.fixture
def client(cast: Cast, api_key: Issue) -> KeyClient:
    return api_key(cast.alice, scopes={"memory:read", "memory:write"})


def search(client: KeyClient, address: str = "/mcp/", query: str = "peanuts") -> list[str]:
    found = call(client, "memory_search", address, query=query)
    return [memory["text"] for memory in found["structuredContent"]["memories"]]


def test_person_is_remembered_across_calls_and_forgotten_on_request(client: KeyClient) -> None:
    call(client, "memory_store", MIA, text="Mia is allergic to peanuts.", key="allergy")

    remembered = search(client, MIA)
    forgotten = call(client, "memory_forget", MIA, key="allergy")
    again = call(client, "memory_forget", MIA, key="allergy")

    assert remembered == ["Mia is allergic to peanuts."]
    assert forgotten["structuredContent"] == {"forgotten": 1}
    assert search(client, MIA) == []
    assert again["isError"]
    assert again["content"][0]["text"] == "key: nothing is remembered under allergy."


@pytest.mark.parametrize(
    ("scopes", "metadata"),
    [(set(), {"origin": "tool"}), ({"memory:speak"}, {})],
    ids=["for itself", "for people"],
)
def test_what_a_client_stores_is_marked_unless_it_speaks_for_people(
    cast: Cast, api_key: Issue, scopes: set[str], metadata: dict[str, str]
) -> None:
    client = api_key(cast.alice, scopes={"memory:read", "memory:write", *scopes})

    call(client, "memory_store", MIA, text="Mia is allergic to peanuts.", key="allergy")

    with tenant([cast.team_a.pk]):
        assert Entry.objects.unscoped().get(key="allergy").metadata == metadata
    assert search(client, MIA) == ["Mia is allergic to peanuts."]


def test_what_contradicts_a_known_fact_is_proposed_to_whoever_reviews(
    client: KeyClient, cast: Cast
) -> None:
    for text in ("The shop opens at nine.", "Bread is sold.", "The shop opens at ten."):
        call(client, "memory_store", text=text)

    with tenant([cast.team_a.pk]):
        (proposal,) = Proposal.objects.unscoped().all()
    texts = [target["value"] for target in proposal.targets]
    assert texts == ["The shop opens at ten.", "The shop opens at nine."]
    queue = cast.alice.client.get("/api/v1/memory/review").json()["items"]
    assert [item["id"] for item in queue] == [str(proposal.pk)]
    assert len(search(client, query="When does the shop open?")) == 2


def test_another_person_or_another_teams_key_finds_nothing(
    client: KeyClient, cast: Cast, api_key: Issue
) -> None:
    call(client, "memory_store", MIA, text="Mia is allergic to peanuts.")
    foreign = api_key(cast.carol, scopes={"memory:read"})

    assert search(client, TOM) == search(client) == search(foreign, MIA) == []


def test_program_remembers_for_itself_and_its_other_key_has_it(
    client: KeyClient, cast: Cast, api_key: Issue
) -> None:
    call(client, "memory_store", text="The shop sells peanuts.")
    other_program = api_key(cast.alice, scopes={"memory:read"})

    assert search(client) == ["The shop sells peanuts."]
    assert search(other_program) == []


def test_person_is_named_by_a_header_too_but_never_by_the_model(client: KeyClient) -> None:
    call(client, "memory_store", MIA, text="Mia is allergic to peanuts.")

    by_argument = call(client, "memory_search", query="peanuts", user="mia")
    by_header = KeyClient(client.key, client.secret)
    by_header.defaults["HTTP_X_MNEMOFLOW_USER"] = "mia"

    assert by_argument["isError"]
    assert by_argument["content"][0]["text"] == "user: is not an argument of this tool"
    assert search(by_header) == ["Mia is allergic to peanuts."]


@pytest.mark.parametrize(
    ("scopes", "tools"),
    [
        ({"runs:read"}, []),
        ({"memory:write"}, []),
        ({"memory:read"}, ["memory_search", "memory_explain", "knowledge_search"]),
        (
            {"memory:read", "memory:write"},
            [
                "memory_search",
                "memory_store",
                "memory_forget",
                "memory_explain",
                "knowledge_search",
            ],
        ),
    ],
)
def test_key_has_the_tools_of_its_scopes(
    cast: Cast, api_key: Issue, scopes: set[str], tools: list[str]
) -> None:
    client = api_key(cast.alice, scopes=scopes)

    assert list_tool_names(client) == tools
    if "memory_store" not in tools:
        refused = ask(client, "tools/call", name="memory_store", arguments={"text": "x"})
        assert refused["error"]["message"] == "There is no tool memory_store for this API key."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "query: is required"),
        ({"query": "x", "limit": 21}, "limit: must be a whole number from 1 to 20."),
        ({"query": "x", "limit": "many"}, "limit: must be a whole number from 1 to 20."),
        ({"query": "x", "limit": True}, "limit: must be a whole number from 1 to 20."),
    ],
)
def test_wrong_arguments_are_named_to_the_model(
    client: KeyClient, arguments: dict[str, Any], message: str
) -> None:
    result = call(client, "memory_search", **arguments)

    assert (result["isError"], result["content"][0]["text"]) == (True, message)


def test_knowledge_pages_are_found_listed_and_read(client: KeyClient, cast: Cast) -> None:
    writer = MemoryCaller(cast.alice.principal, cast.alice.team.pk)
    page = {"title": "Opening hours", "content": "The bakery opens at six.", "summary": "When"}
    services.write_pages(writer, namespace="global:default", pages=[page])

    found = call(client, "knowledge_search", query="When does the bakery open?")
    listed = ask(client, "resources/list")["result"]["resources"]
    uri = found["structuredContent"]["pages"][0]["uri"]
    read = ask(client, "resources/read", uri=uri)["result"]["contents"]

    assert [each["title"] for each in listed] == ["Opening hours"]
    assert listed[0]["uri"] == uri
    assert read[0]["text"] == "# Opening hours\n\nThe bakery opens at six.\n"


def test_pages_of_another_team_are_not_there(cast: Cast, api_key: Issue) -> None:
    writer = MemoryCaller(cast.alice.principal, cast.alice.team.pk)
    [page] = services.write_pages(
        writer, namespace="global:default", pages=[{"title": "Secret", "content": "Plans"}]
    )
    stranger = api_key(cast.carol, scopes={"memory:read"})

    answer = ask(stranger, "resources/read", uri=f"mnemoflow://knowledge/{page.entry.id}")

    assert answer["error"]["code"] == -32002
    assert ask(stranger, "resources/list")["result"]["resources"] == []


def test_every_knowledge_base_has_a_page_of_the_list(client: KeyClient, cast: Cast) -> None:
    writer = MemoryCaller(cast.alice.principal, cast.alice.team.pk)
    for base in ("global:default", "global:recipes"):
        services.write_pages(
            writer, namespace=base, pages=[{"title": f"Page of {base}", "content": "Text"}]
        )

    first = ask(client, "resources/list")["result"]
    second = ask(client, "resources/list", cursor=first["nextCursor"])["result"]

    titles = [each["title"] for each in (*first["resources"], *second["resources"])]
    assert sorted(titles) == ["Page of global:default", "Page of global:recipes"]
    assert "nextCursor" not in second


def test_memory_is_explained_by_its_changes(client: KeyClient) -> None:
    for text in ("Mia likes tea.", "Mia likes coffee."):
        call(client, "memory_store", MIA, text=text, key="drink")

    explained = call(client, "memory_explain", MIA, key="drink")["structuredContent"]

    changes = explained.pop("changes")
    assert explained == {"key": "drink", "text": "Mia likes coffee."}
    assert [change["text"] for change in changes] == ["Mia likes tea.", "Mia likes coffee."]
    assert all(change["at"] and change["by"] for change in changes)


def test_what_is_forgotten_or_somebody_elses_is_not_explained(client: KeyClient) -> None:
    call(client, "memory_store", MIA, text="Mia likes tea.", key="drink")
    of_another = call(client, "memory_explain", TOM, key="drink")
    call(client, "memory_forget", MIA, key="drink")
    forgotten = call(client, "memory_explain", MIA, key="drink")

    for result in (of_another, forgotten):
        assert result["isError"]
        assert result["content"][0]["text"] == "key: nothing is remembered under drink."
