"""Finds the sample that is closest to a description, for people without a model that could draft a workflow."""

import re

from workflows.samples import Sample
from workflows.services.samples.samples import list_offered


_WORD = re.compile(r"[^\W_]{3,}|[\u4e00-\u9fff]")


def find_closest_sample(description: str) -> Sample | None:
    """Return the sample that has the most words of the description; the first one if none has any."""
    description_words = _list_words(description)
    samples = [sample for sample in list_offered() if not sample.is_block]
    if not samples:
        return None
    return max(samples, key=lambda sample: _count_common(description_words, sample))


def _count_common(description_words: set[str], sample: Sample) -> int:
    """Count the words that both have; those of the title count twice."""
    title = _list_words(str(sample.title))
    text = _list_words(" ".join(str(line) for line in (sample.purpose, *sample.shows)))
    return 2 * len(description_words & title) + len(description_words & text)


def _list_words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))
