"""Workflows we ship, as documents beside this file: each with what it remembers at first, and its tests.

``<slug>.yml`` is the document, ``<slug>.tests.yml`` three saved cases, ``<slug>.memories.yml`` what is
there for whoever takes a copy. What the gallery says about each is in ``catalogue``.
"""

from workflows.samples.catalogue import SAMPLES
from workflows.samples.sample import Sample


__all__ = ["BY_SLUG", "SAMPLES", "Sample"]

BY_SLUG = {sample.slug: sample for sample in SAMPLES}
