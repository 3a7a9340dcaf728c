"""An unsent message stays with the chat in which it was typed: the page, the editor's pane, or a public page."""

import re

from config.env import ROOT


TEMPLATES = ("chat/page.html", "chat/_pane.html", "public_pages/chat.html")


def test_each_chat_stores_its_unsent_message_under_a_key_of_its_own() -> None:
    keys = [
        re.findall(r'data-draft-key="([^"]*)"', (ROOT / "templates" / name).read_text())
        for name in TEMPLATES
    ]
    values = {"workflow.id": "w", "request.user.pk": "u", "person": ""}
    shown = [re.sub(r"{{ ([\w.]+) }}", lambda m: values[m[1]], key) for (key,) in keys]

    assert len(set(shown)) == len(TEMPLATES), shown
