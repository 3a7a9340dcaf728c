"""Postings as bytes, without a database."""

from collections.abc import Sequence
from struct import unpack

from memory.providers.postgres.postings import BLOCK, REGISTER, Changes, Key, patched, seats_in


def test_counts_are_pairs_in_order():
    assert patched(b"", {3: 1, 1: 2}) == bytes([1, 2, 3, 1])


def test_new_ones_go_to_the_end_and_old_ones_where_they_were():
    packed = bytes([1, 2, 3, 1])

    assert patched(packed, {7: 5}) == bytes([1, 2, 3, 1, 7, 5])
    assert patched(packed, {2: 9, 3: 4}) == bytes([1, 2, 2, 9, 3, 4])
    assert patched(packed, {1: 0, 3: 0}) == b""


def test_fresh_entries_make_rows_by_term_and_block():
    changes = Changes()
    changes.seat(0, None)
    changes.add(0, "cat cat dog")
    changes.seat(BLOCK, 0)
    changes.add(BLOCK, "cat")

    rows = {(term, block): packed for term, block, packed in changes.rows(lambda keys: {})}

    assert rows["cat", 0] == bytes([0, 2])
    assert rows["cat", 1] == bytes([0, 1])
    assert rows["dog", 0] == bytes([0, 1])
    assert unpack("<II", rows[".", 0]) == (4, 0)  # three words, nobody before
    assert unpack("<II", rows[".", 1]) == (2, 1)  # one word, number 0 before


def test_same_text_again_is_only_a_new_register():
    changes = Changes()
    changes.take_out(5, "cat dog")
    changes.add(5, "cat dog")

    asked: list[Key] = []

    def read(keys: Sequence[Key]) -> dict[Key, bytes]:
        asked.extend(keys)
        return {}

    changes.rows(read)

    assert asked == [(REGISTER, 0)]


def test_changed_text_touches_what_differs():
    changes = Changes()
    changes.take_out(1, "cat dog")
    changes.add(1, "cat cat bird")

    known = {("cat", 0): bytes([0, 1, 1, 1]), ("dog", 0): bytes([1, 1])}
    rows = {(term, block): packed for term, block, packed in changes.rows(lambda keys: known)}

    assert rows["cat", 0] == bytes([0, 1, 1, 2])
    assert rows["dog", 0] == b""
    assert rows["bird", 0] == bytes([1, 1])
    assert seats_in(len(rows[".", 0])) == 2


def test_term_counts_up_to_what_a_byte_holds():
    changes = Changes()
    changes.seat(0, None)
    changes.add(0, "cat " * 300)

    rows = {term: packed for term, _, packed in changes.rows(lambda keys: {})}

    assert rows["cat"] == bytes([0, 255])
