"""What each client does: it tells something, is remembered, asks as somebody else, and has it forgotten.

It runs in the environments of the clients, too, where nothing of ours is installed.
"""

from collections.abc import Callable
from typing import Any


FACT = "I'm Ana, and I'm allergic to peanuts."
QUESTION = "What am I allergic to?"

# Model, text and person → the answer.
Ask = Callable[[str, str, str], str]


def play(ask: Ask, person: str) -> dict[str, Any]:
    """Return the answers of one person's story, by what they are to say."""
    ask("diary", FACT, person)
    return {
        "remembered": ask("diary", QUESTION, person),
        "to_others": ask("diary", QUESTION, f"{person}-other"),
        "forgotten": ask("forget", "Forget me.", person),
        "afterwards": ask("diary", QUESTION, person),
    }


def check(story: dict[str, Any]) -> None:
    assert "peanuts" in story["remembered"]
    assert "peanuts" not in story["to_others"]
    assert story["forgotten"] == "Forgotten: 1"
    assert "peanuts" not in story["afterwards"]
