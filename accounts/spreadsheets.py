"""Keeps texts of people out of the formulas of a spreadsheet that opens a CSV file."""

import re
from typing import Final


_FORMULA: Final = re.compile(r"[\t\r\n]|\s*[=+\-@＝＋－＠]")


def escape_formula(text: str) -> str:
    """Return the cell's text, with an apostrophe before a text that a spreadsheet would read as a formula.

    Some read one also after spaces, and with the wide signs of Chinese and Japanese keyboards.
    """
    return f"'{text}" if _FORMULA.match(text) else text
