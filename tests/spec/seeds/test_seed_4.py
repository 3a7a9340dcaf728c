"""Document 4, store, conversation, knowledge and retriever: what it asks for, in the running product."""

from typing import Any

import pytest

from tests.spec.seeds.conftest import Product, make_end, make_node


WIKI = {"namespace": "global:wiki"}
PAGES = "/knowledge/pages"
CHAT = {"conversation_id": "chat-1"}


def history(node_id: str, action: str, /, *said: tuple[str, str], **data: Any) -> Any:
    messages = [{"role": role, "text": text} for role, text in said]
    return make_node(node_id, "conversation-memory", action=action, messages=messages, **data)


def succeed(run: Any) -> Any:
    assert run["status"] == "succeeded", run["error"]
    return run["outputs"]


def write_page(product: Product, **page: Any) -> Any:
    (written,) = product.call("post", PAGES, {**WIKI, "pages": [page]}, status=201)
    return written["page"]


def list_index(product: Product) -> dict[str, str]:
    pages = product.call("get", f"{PAGES}?namespace={WIKI['namespace']}")["items"]
    return {one["title"]: one["summary"] for one in pages}


@pytest.mark.parametrize(
    ("strategy", "left"),
    [
        ({"strategy": "full"}, ["user: one", "user: two", "user: three"]),
        ({"strategy": "sliding_window", "max_turns": 2}, ["user: two", "user: three"]),
        ({"max_messages": 1}, ["user: three"]),
    ],
    ids=["full", "sliding window", "capacity"],
)
def test_messages_of_a_conversation_are_kept_as_its_strategy_says(
    product: Product, strategy: Any, left: list[str]
) -> None:
    say = product.add_workflow(
        history("say", "append", ("user", "{{#start.text#}}"), **strategy),
        history("read", "read"),
        make_end(text="read.text"),
    )

    for text in ("one", "two", "three"):
        run = product.run(say, text, **CHAT)

    assert succeed(run)["text"].splitlines() == left
    other = product.run(say, "elsewhere", conversation_id="chat-2")
    assert succeed(other)["text"] == "user: elsewhere"


def test_long_tool_result_is_shortened_and_what_the_person_said_is_not(product: Product) -> None:
    question = "When is high water? " * 20
    call = {"id": "t1", "type": "function", "function": {"name": "tides", "arguments": "{}"}}
    said: list[dict[str, Any]] = [
        {"role": "user", "content": question},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "t1", "content": "04:12 " * 2_000},
        {"role": "assistant", "content": "At 04:12."},
        {"role": "user", "content": "Thank you."},
    ]
    limits = {"context_window": 600, "reserved_tokens": 100, "keep_recent": 1}
    workflow = product.add_workflow(
        history("say", "append", messages_selector=["start", "text"], **limits),
        history("read", "read"),
        make_end(messages="read.messages"),
        text="array[object]",
    )

    messages = succeed(product.run(workflow, said, **CHAT))["messages"]

    assert [one["role"] for one in messages] == [one["role"] for one in said]
    assert messages[0]["content"] == question
    assert len(messages[2]["content"]) < 2_000


def test_page_is_written_changed_and_deleted_and_the_index_keeps_step(product: Product) -> None:
    page = write_page(product, title="Deployment", summary="How to ship", content="The blue button.")  # fmt: skip
    write_page(product, title="Harbour", summary="Tides", content="High water at four.")
    assert list_index(product) == {"Deployment": "How to ship", "Harbour": "Tides"}

    path = f"{PAGES}/{page['entry']}"
    product.call("patch", path, {"summary": "Ship with the red one"}, headers={"If-Match": '"1"'})
    assert list_index(product)["Deployment"] == "Ship with the red one"

    product.call("delete", path)
    assert list_index(product) == {"Harbour": "Tides"}


@pytest.mark.parametrize("words", ["deployment", "seaside", "ops", "部署"])
def test_page_is_found_by_title_summary_and_tags_without_an_embedder(
    product: Product, words: str
) -> None:
    write_page(
        product,
        title="Deployment 部署手册",
        summary="The seaside office ships it",
        content="Press the blue button.",
        tags=["ops"],
    )
    write_page(product, title="Cooking", summary="Soups", content="Salt.", tags=["kitchen"])

    found = product.call("get", f"/knowledge/search?namespace=global:wiki&query={words}")["items"]

    assert [one["page"]["title"] for one in found] == ["Deployment 部署手册"]


def test_workflow_writes_a_page_and_the_next_finds_it(product: Product) -> None:
    write = product.add_workflow(
        make_node(
            "write",
            "knowledge-write",
            scope="user",
            page_title="Harbour",
            page_content="{{#start.text#}}",
        ),
        make_end(written="write.count"),
    )
    find = product.add_workflow(
        make_node(
            "find",
            "knowledge-retrieval",
            scope="user",
            query_variable_selector=["start", "text"],
        ),
        make_end(result="find.result"),
    )

    succeed(product.run(write, "High water is at four in the morning."))
    result = succeed(product.run(find, "When is high water?"))["result"]

    assert "four in the morning" in str(result)
