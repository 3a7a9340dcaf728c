"""The examples of "a workflow's own memory", one test each, with the names and words they have there."""

import asyncio
import itertools
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine

from memory.core.records import MemoryQuery
from memory.logic.provider_port import ProviderPort
from memory.notes.metadata import RunBook, RunMetadata, Todo, TodoStatus
from memory.notes.notebook import Note, Notebook, format_notes
from memory.providers.in_memory import InMemoryProvider


RUN = "workflow_1234567890_abc123"
GROUP = "group_123"
START = datetime(2023, 12, 21, 1, 38, 43, 456_000, UTC)  # 1703122723456


class Step:
    run_id = RUN
    node_id = "todo"
    idempotency_key = "todo"


@pytest.fixture
def clock() -> Iterator[Any]:
    with time_machine.travel(START, tick=False) as traveller:
        yield traveller


@pytest.fixture
def provider() -> InMemoryProvider:
    return InMemoryProvider()


@pytest.fixture
def notebook(provider: InMemoryProvider) -> Notebook:
    numbers = itertools.count()
    return Notebook(provider, new_id=lambda: f"{next(numbers):04}")


class Speaking:
    """What somebody says to a workflow, or to several merged, is remembered there."""

    def __init__(self, provider: InMemoryProvider) -> None:
        self._memory = ProviderPort(provider)
        self._said = itertools.count()

    def to(self, *streams: str, group: str = GROUP, say: str) -> str:
        entry = asyncio.run(
            self._memory.store(
                scope="workflow",
                identity={"workflow_names": streams, "group_id": group},
                origin=Step(),
                key=f"message:{next(self._said)}",
                value={"message": say},
            )
        )
        return entry.namespace

    def known_to(self, *streams: str, group: str = GROUP, about: str | None = None) -> list[str]:
        found = asyncio.run(
            self._memory.recall(
                scope="workflow",
                identity={"workflow_names": streams, "group_id": group},
                origin=Step(),
                query_text=about,
            )
        )
        return [entry.value["message"] for entry in found]


@pytest.fixture
def user(provider: InMemoryProvider) -> Speaking:
    return Speaking(provider)


def test_example_1_what_desktop_was_told_chat_does_not_know(user: Speaking) -> None:
    told = user.to("desktop", say="desktop你记住，下次见我要喊我主人")
    greeted = user.to("chat", say="chat你好")

    assert told == "ai:memory:desktop:group_123"
    assert greeted == "ai:memory:chat:group_123"
    assert user.known_to("desktop") == ["desktop你记住，下次见我要喊我主人"]
    assert user.known_to("chat") == ["chat你好"]
    assert user.known_to("chat", about="喊我主人") == []


def test_example_2_merged_workflow_has_a_memory_of_its_own(user: Speaking) -> None:
    told = user.to("chat", "desktop", say="记住我是主人")

    assert told == "ai:memory:chat-desktop:group_123"
    assert user.known_to("chat", "desktop") == ["记住我是主人"]
    assert user.known_to("chat") == []
    assert user.known_to("desktop") == []


def test_another_group_of_the_same_workflow_knows_nothing(user: Speaking) -> None:
    user.to("chat", say="记住我是主人")

    assert user.known_to("chat", group="group_456") == []


def test_example_3_each_step_reads_the_notes_of_those_before_newest_first(
    notebook: Notebook, clock: Any
) -> None:
    assert notebook.list_notes(RUN) == []

    notebook.store_note(RUN, "用户需要创建表格，但具体内容未确定", "todo_0")
    assert format_notes(notebook.list_notes(RUN)) == "1. 用户需要创建表格，但具体内容未确定"

    clock.shift(1)
    notebook.store_note(RUN, "已询问用户表格内容，等待回复", "todo_1")
    clock.shift(1)
    notebook.store_note(RUN, "已创建Excel文件，包含3行3列数据", "todo_2")

    assert format_notes(notebook.list_notes(RUN)) == (
        "1. 已创建Excel文件，包含3行3列数据\n"
        "2. 已询问用户表格内容，等待回复\n"
        "3. 用户需要创建表格，但具体内容未确定"
    )


def test_note_is_its_content_source_time_and_whether_it_is_temporary(
    notebook: Notebook, provider: InMemoryProvider, clock: Any
) -> None:
    content = "用户需要创建表格，但具体内容未确定"
    note = notebook.store_note(RUN, content, "todo_0")

    (kept,) = provider.recall(MemoryQuery(f"ai:notes:{RUN}"))

    assert note == Note(content, "todo_0", 1703122723456, temporary=True)
    assert kept.value == {
        "content": content,
        "source": "todo_0",
        "time": 1703122723456,
        "temporary": True,
    }
    assert kept.expires_at == START + timedelta(seconds=1800)
    assert notebook.list_notes(RUN) == [note]


def test_note_is_gone_after_thirty_minutes(notebook: Notebook, clock: Any) -> None:
    notebook.store_note(RUN, "first", "todo_0")
    clock.shift(60)
    notebook.store_note(RUN, "second", "todo_1")

    clock.move_to(START + timedelta(minutes=30) - timedelta(microseconds=1))
    assert [note.content for note in notebook.list_notes(RUN)] == ["second", "first"]
    clock.move_to(START + timedelta(minutes=30))
    assert [note.content for note in notebook.list_notes(RUN)] == ["second"]
    clock.move_to(START + timedelta(minutes=31))
    assert notebook.list_notes(RUN) == []


def test_note_that_is_not_temporary_outlives_them(notebook: Notebook, clock: Any) -> None:
    notebook.store_note(RUN, "for now", "todo_0")
    notebook.store_note(RUN, "for good", "todo_0", temporary=False)

    clock.shift(1801)

    assert [note.content for note in notebook.list_notes(RUN)] == ["for good"]


async def test_notes_are_cleared_when_the_run_ends_and_messages_stay(
    notebook: Notebook, provider: InMemoryProvider
) -> None:
    notebook.store_note(RUN, "用户需要创建表格", "todo_0")
    notebook.store_note(RUN, "for good", "todo_0", temporary=False)
    notebook.store_note("another", "of another run", "todo_0")
    memory = ProviderPort(provider)
    identity = {"workflow_names": ["chat", "desktop"], "group_id": GROUP}
    await memory.store(scope="workflow", identity=identity, origin=Step(), key="m", value="3行3列")

    assert notebook.clear_notes(RUN) == 2

    assert notebook.list_notes(RUN) == []
    assert [note.content for note in notebook.list_notes("another")] == ["of another run"]
    assert [
        entry.value
        for entry in await memory.recall(scope="workflow", identity=identity, origin=Step())
    ] == ["3行3列"]


def test_run_is_described_by_goal_todos_notes_and_stream_for_three_days(
    notebook: Notebook, provider: InMemoryProvider, clock: Any
) -> None:
    book = RunBook(provider, notebook)
    made = RunMetadata(
        RUN,
        goal="帮我做一个表格",
        todos=(
            Todo("todo_0", "询问用户表格的具体内容和格式"),
            Todo("todo_1", "创建Excel文件"),
            Todo("todo_2", "填写数据到表格"),
        ),
        stream_name="chat-desktop",
    )
    book.save(made)
    note = notebook.store_note(RUN, "用户需要创建表格", "todo_0")
    done = book.set_todo(RUN, "todo_0", TodoStatus.COMPLETED)

    (kept,) = provider.recall(MemoryQuery(f"ai:workflow:{RUN}"))
    assert kept.value["streamName"] == "chat-desktop"
    assert [todo["status"] for todo in kept.value["todos"]] == ["completed", "pending", "pending"]
    assert (book.get(RUN)) == done
    assert done.notes == (note,)
    assert done.goal == "帮我做一个表格"

    clock.shift(1800)
    later = book.get(RUN)
    assert later is not None
    assert later.notes == ()
    clock.move_to(START + timedelta(days=3) - timedelta(microseconds=1))
    assert book.get(RUN) is not None
    clock.move_to(START + timedelta(days=3))
    assert book.get(RUN) is None


async def test_value_that_a_node_stored_under_the_run_is_no_note(
    notebook: Notebook, provider: InMemoryProvider
) -> None:
    memory = ProviderPort(provider)
    await memory.store(
        scope="run",
        identity={"run_id": RUN},
        origin=Step(),
        key="draft",
        value="a draft",
        metadata={"category": "note"},
    )

    assert notebook.list_notes(RUN) == []
    assert notebook.clear_notes(RUN) == 1
