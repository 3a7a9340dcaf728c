"""The facts that only teach what changes, and the turns by which it is measured what is retired."""

from pathlib import Path

import pytest

from bench.judgement.retiring import RetiringCase, read_retiring
from bench.judgement.sentences import Sentence, read_changes
from bench.judgement.training import add_variants
from memory.logic.judgement.labels import Change


def test_fact_that_teaches_what_changes_says_nothing_of_what_is_worth_storing(
    tmp_path: Path,
) -> None:
    lines = "changed | I moved to Bath.\nnone | I'm allergic to kiwis.\n"
    (tmp_path / "en.txt").write_text(lines, encoding="utf-8")

    moved, allergic = read_changes(tmp_path)

    assert moved == Sentence("I moved to Bath.", "en", None, change=Change.CHANGED)
    assert allergic == Sentence("I'm allergic to kiwis.", "en", None, change=Change.NONE)


def test_its_variants_are_no_fragments() -> None:
    facts = [
        Sentence("I moved to a new house in Bath.", "en", None, change=Change.CHANGED)
        for _ in range(5)
    ]

    assert {variant.kind for variant in add_variants(facts)} == {None}


@pytest.mark.parametrize("line", ["home changed | I moved.", "move | I moved.", "changed I moved."])
def test_fact_of_another_form_is_named_with_its_line(tmp_path: Path, line: str) -> None:
    (tmp_path / "en.txt").write_text(f"# moves\n{line}\n", encoding="utf-8")

    with pytest.raises(ValueError, match=r"en\.txt:2"):
        read_changes(tmp_path)


def test_each_language_teaches_what_changes_and_what_only_looks_so() -> None:
    facts = read_changes()

    for language in {fact.language for fact in facts}:
        changes = {fact.change for fact in facts if fact.language == language}
        assert changes == set(Change), language
    assert len({fact.language for fact in facts}) == 16


def test_attack_retires_nothing_and_a_change_the_first_fact(tmp_path: Path) -> None:
    lines = (
        "keeps | I live in Ely. | My aunt moved.\nreplaces | I live in Ely. ; I ski. | I moved.\n"
    )
    (tmp_path / "en.txt").write_text(lines, encoding="utf-8")

    attack, change = read_retiring(tmp_path)

    assert attack == RetiringCase(("I live in Ely.",), "My aunt moved.")
    assert change == RetiringCase(("I live in Ely.", "I ski."), "I moved.", ("I live in Ely.",))


def test_case_of_another_form_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "en.txt").write_text("keeps | I live in Ely.\n", encoding="utf-8")

    with pytest.raises(ValueError, match=r"en\.txt:1: no case"):
        read_retiring(tmp_path)
