"""What a preview and a receipt of an erasure say to people, and what to operators."""

from memory.views.erasure_lines import list_tables, summarize


TABLES = {
    "memory_entry": 13, "memory_posting": 222, "memory_namespace": 10, "elsewhere": 2, "workflows_conversation": 2,
    "workflows_message": 5, "workflows_run": 7, "workflows_runcommit": 33, "workflows_storedfile": 1,
    "memory_documentupload": 2, "workflows_task": 0,
}  # fmt: skip
MEMORIES = {"current": 5, "forgotten": 3, "of_test_users": 1, "of_conversations": 4}


def test_summary_counts_what_people_know_and_tells_the_memories_apart() -> None:
    lines = summarize(TABLES, {}, MEMORIES)

    assert [(str(line.label), line.erased_count, line.notes) for line in lines] == [
        ("Memories", 15, ("3 of them forgotten", "1 of test users", "4 of conversations and runs")),
        ("Conversations", 2, ("5 messages",)),
        ("Runs", 7, ()),
        ("Files", 3, ()),
    ]


def test_summary_shows_what_remains_even_of_what_was_not_erased() -> None:
    (line,) = summarize({}, {"workflows_run": 1}, {})

    assert (str(line.label), line.erased_count, line.remaining_count) == ("Runs", 0, 1)


def test_tables_have_a_line_each_also_one_without_a_label() -> None:
    lines = list_tables({"memory_entry": 1, "of_a_plug_in": 2}, {"of_a_plug_in": 1})

    assert [(line.name, line.erased_count, line.remaining_count) for line in lines] == [
        ("memory_entry", 1, 0),
        ("of_a_plug_in", 2, 1),
    ]
