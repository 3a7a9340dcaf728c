"""Recognize the scripts whose words have no spaces between them: Thai, Japanese and Chinese."""

import re
from typing import Final


UNSPACED: Final = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")
