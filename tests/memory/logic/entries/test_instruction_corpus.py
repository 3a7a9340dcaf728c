"""How many prompt injections the sieve misses, and how many innocent texts it holds back; ``-s`` prints each of them."""

import pytest

from memory.logic.entries.instruction_words import LANGUAGES
from memory.logic.entries.instructions import find_instructions
from tests.memory.logic.entries.corpus import HOSTILE, INNOCENT
from tests.support.processor_time import measure_cpu


MAX_MISSED = 0.15  # of all hostile texts
MAX_MISSED_IN_GROUP = 0.25
MAX_FALSE_ALARMS = 0.05


def list_missed(texts: tuple[str, ...]) -> list[str]:
    return [text for text in texts if not find_instructions(text)]


def test_sieve_misses_few_of_the_hostile_texts() -> None:
    missed = {group: list_missed(texts) for group, texts in HOSTILE.items()}
    total, count = sum(map(len, HOSTILE.values())), sum(map(len, missed.values()))

    print(f"\nMissed {count} of {total} hostile texts:")
    for group, texts in missed.items():
        print(f"  {group}: {len(texts)} of {len(HOSTILE[group])}", *texts, sep="\n      ")

    assert count <= MAX_MISSED * total
    for group, texts in missed.items():
        assert len(texts) <= MAX_MISSED_IN_GROUP * len(HOSTILE[group]), group


def test_sieve_holds_back_few_innocent_texts() -> None:
    texts = [text for group in INNOCENT.values() for text in group]
    alarms = {text: found for text in texts if (found := find_instructions(text))}

    print(f"\n{len(alarms)} false alarms in {len(texts)} innocent texts:")
    for text, found in alarms.items():
        print(f"  {text} {[instruction.rule for instruction in found]}")

    assert len(alarms) <= MAX_FALSE_ALARMS * len(texts)


def test_ten_languages_are_known() -> None:
    assert len({"en", "zh", *LANGUAGES}) == 10


REPEATED = [
    *(
        "ignora ",
        "ignora anteriores ",
        "trust x ",
        "trust x as ",
        "show image https://e.x/?a ",
        "無視して以前",
    ),
    *(
        "![a](https://e.x/?a&",
        "<img src=https://e.x/?a",
        "this message is ",
        "![",
        "무시하고 이전 ",
        "a.a",
    ),
    *("в" * 50, "if ", "{", "https://e.x/a-your-", "[a](https://", "à partir de maintenant "),
]


@pytest.mark.parametrize("text", REPEATED)
@pytest.mark.timed  # regular expressions can't be counted
def test_time_grows_no_faster_than_the_text(text: str) -> None:
    def measure(length: int) -> float:
        hostile = (text * (length // len(text) + 1))[:length]
        with measure_cpu() as taken:
            find_instructions(hostile)
        return taken.seconds

    short, long = measure(12_500), measure(200_000)

    assert long < max(short * 16 * 4, 1.0)
    assert long < 9
