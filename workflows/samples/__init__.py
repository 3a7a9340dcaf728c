"""The shipped workflows, each in a folder named by its slug.

``workflow.yml`` is the document, ``tests.yml`` holds three saved test cases, and ``memories.yml``
the memories that a copy starts with. The descriptions on the gallery's cards are in ``catalogue``.
"""

from workflows.samples.catalogue import SAMPLES
from workflows.samples.sample import Sample


__all__ = ["SAMPLES", "SAMPLES_BY_SLUG", "Sample"]

SAMPLES_BY_SLUG = {sample.slug: sample for sample in SAMPLES}
