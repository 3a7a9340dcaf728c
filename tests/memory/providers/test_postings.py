"""Postings as bytes, without a database."""

from collections.abc import Sequence
from struct import pack, unpack

from memory.providers.postgres.postings import (
    BLOCK_SIZE,
    PackedRows,
    PostingChanges,
    PostingKey,
    compute_next_number,
    merge_counts,
)


def test_counts_are_pairs_in_order():
    assert merge_counts(b"", {3: 1, 1: 2}) == bytes([1, 2, 3, 1])


def test_new_ones_go_to_the_end_and_old_ones_where_they_were():
    packed = bytes([1, 2, 3, 1])

    assert merge_counts(packed, {7: 5}) == bytes([1, 2, 3, 1, 7, 5])
    assert merge_counts(packed, {2: 9, 3: 4}) == bytes([1, 2, 2, 9, 3, 4])
    assert merge_counts(packed, {1: 0, 3: 0}) == b""


def test_fresh_entries_make_rows_by_term_and_block():
    changes = PostingChanges()
    changes.add_number(0, None)
    changes.add(0, "cat cat dog")
    changes.add_number(BLOCK_SIZE, 0)
    changes.add(BLOCK_SIZE, "cat")

    rows = {(term, block): packed for term, block, packed in changes.list_rows(lambda keys: {})}

    assert rows["cat", 0] == bytes([0, 2])
    assert rows["cat", 1] == bytes([0, 1])
    assert rows["dog", 0] == bytes([0, 1])
    assert unpack("<II", rows[".", 0]) == (4, 0)  # three words, nobody before
    assert unpack("<II", rows[".", 1]) == (2, 1)  # one word, number 0 before


def test_same_text_again_changes_nothing_and_reads_nothing():
    changes = PostingChanges()
    changes.take_out(5, "cat dog")
    changes.add(5, "cat dog")

    assert changes.pack_rows(_unread) == PackedRows()
    assert changes.list_rows(_unread) == []


def test_fresh_entries_go_to_the_end_of_rows_nobody_reads():
    changes = PostingChanges()
    changes.add_number(7, None)
    changes.add(7, "cat cat dog")
    changes.add_number(8, 7)
    changes.add(8, "cat")

    packed = changes.pack_rows(_unread)

    assert packed.replaced == []
    assert {(term, block): tail for term, block, tail in packed.appended} == {
        ("cat", 0): bytes([7, 2, 8, 1]),
        ("dog", 0): bytes([7, 1]),
        (".", 0): pack("<IIII", 4, 0, 2, 8),  # three words and nobody before; one, and number 7
    }


def test_fresh_entry_beside_a_changed_one_is_packed_with_it():
    """Another group gives an entry a new number: one row loses the old and has the new at its end."""
    changes = PostingChanges()
    changes.take_out(1, "cat dog")
    changes.add_number(3, None)
    changes.add(3, "cat bird")
    register = pack("<IIIIII", 0, 0, 3, 0, 1, 0)
    known = {("cat", 0): bytes([1, 1, 2, 1]), ("dog", 0): bytes([1, 1]), (".", 0): register}

    packed = changes.pack_rows(lambda keys: known)

    assert {(term, block): row for term, block, row in packed.replaced} == {
        ("cat", 0): bytes([2, 1, 3, 1]),
        ("dog", 0): b"",
        (".", 0): pack("<IIIIIIII", 0, 0, 0, 0, 1, 0, 3, 0),
    }
    assert list(packed.appended) == [("bird", 0, bytes([3, 1]))]


def _unread(keys: Sequence[PostingKey]) -> dict[PostingKey, bytes]:
    raise AssertionError(f"{keys} were read")


def test_changed_text_touches_what_differs():
    changes = PostingChanges()
    changes.take_out(1, "cat dog")
    changes.add(1, "cat cat bird fish")

    known = {("cat", 0): bytes([0, 1, 1, 1]), ("dog", 0): bytes([1, 1])}
    rows = {(term, block): packed for term, block, packed in changes.list_rows(lambda keys: known)}

    assert rows["cat", 0] == bytes([0, 1, 1, 2])
    assert rows["dog", 0] == b""
    assert rows["bird", 0] == bytes([1, 1])
    assert compute_next_number(0, len(rows[".", 0])) == 2


def test_term_counts_up_to_what_a_byte_holds():
    changes = PostingChanges()
    changes.add_number(0, None)
    changes.add(0, "cat " * 300)

    rows = {term: packed for term, _, packed in changes.list_rows(lambda keys: {})}

    assert rows["cat"] == bytes([0, 255])
