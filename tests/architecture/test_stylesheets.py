"""What a style rule costs: some make the browser look at every element again whenever one is added anywhere."""

import re
from pathlib import Path

import pytest
from django.conf import settings


SHEETS = sorted((Path(settings.STATICFILES_DIRS[0]) / "css").glob("*.css"))

# "* + *", "> * ~ *": who comes after whom, whoever they are. Adding an element then restyles all that follow it with
# all that is in them, which in the editor is the whole graph.
ANY_AFTER_ANY = re.compile(r"(?:^|[\s>+~,}])\*\s*[+~]\s*\*")


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.name)
def test_no_rule_makes_every_addition_restyle_the_page(sheet: Path) -> None:
    rules = re.sub(r"/\*.*?\*/", "", sheet.read_text(), flags=re.DOTALL)
    selectors = re.findall(r"([^{};]+)\{", rules)
    assert [one.strip() for one in selectors if ANY_AFTER_ANY.search(one)] == []


def test_the_rule_is_recognised_when_it_is_there() -> None:
    assert ANY_AFTER_ANY.search(".body > * + *")
    assert not ANY_AFTER_ANY.search(".body > * + .more")
