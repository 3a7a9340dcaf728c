"""How often a process looks for garbage."""

import gc


def collect_rarely() -> None:
    """Look for garbage among twenty thousand new objects instead of seven hundred; called before Django is set up.

    Django, models and schemas are made once and kept. Looking through them again and again while they were made took a fifth
    of each command's start, and a page of two thousand nodes triggered it hundreds of times.
    """
    gc.set_threshold(20_000, 10, 20)
