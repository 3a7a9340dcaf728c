"""Text with offsets as browsers count them."""

import json

from workflows.execution.journal.partials import Transcript, count_units, cut_before, read_segments


def test_chunks_of_one_source_are_one_segment_with_utf16_offsets() -> None:
    text = Transcript()

    offsets = [text.add("a", "x", "🐈!", 1), text.add("a", "x", "b", 4), text.add("a", "y", "c", 5)]

    assert offsets == [0, 3, 4]
    assert text.to_rows() == [["a", "x", 0, 1, 4, "🐈!b"], ["a", "y", 4, 5, 5, "c"]]
    assert text.text == "🐈!bc"


def test_saved_segments_are_read_back_whole() -> None:
    text = Transcript()
    text.add("a", None, "é🐈", 2)

    (segment,) = read_segments(json.loads(json.dumps(text.to_rows())))

    assert (segment.to_row(), segment.length) == (text.to_rows()[0], 3)


def test_tail_starts_at_the_unit_asked_for() -> None:
    assert (count_units("a🐈b"), cut_before("a🐈b", 3), cut_before("abc", 1)) == (4, "b", "bc")
