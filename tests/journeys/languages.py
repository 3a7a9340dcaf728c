"""The languages of the journeys that are made in both.

A walk is the same in either; by day it is made in English. Every page is read in Chinese by ``test_every_page`` each day.
"""

import pytest


BY_NIGHT = pytest.mark.nightly
LANGUAGES = ["en", pytest.param("zh-hans", marks=BY_NIGHT)]
