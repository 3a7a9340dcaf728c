"""Why something waits in quarantine, in the reader's language.

What is kept of it are ids: of the reason, and of each rule that its text broke, with the words of the text.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from memory.logic.entries.ingress import FindingReason


REASONS: Final[Mapping[str, Promise]] = {
    FindingReason.SECRET: _("Contained a secret, which was removed"),
    FindingReason.HAS_INSTRUCTIONS: _("Looks like a prompt injection"),
    FindingReason.TOO_LARGE: _("Too large for a memory"),
    FindingReason.EXTERNAL_SOURCE: _("From an external source"),
}

# The rules of memory.logic.entries.instructions.
RULES: Final[Mapping[str, Promise]] = {
    "hidden characters": _("hidden characters"),
    "ignore instructions": _("ignore instructions"),
    "new instructions": _("new instructions"),
    "another role": _("role change"),
    "reveal instructions": _("reveal instructions"),
    "hide from the person": _("hide from the user"),
    "markup of a prompt": _("prompt markup"),
    "send data away": _("data exfiltration"),
    "remember an order": _("remember an instruction"),
    "standing order": _("standing instruction"),
    "order to an assistant": _("instruction to the assistant"),
    "order to use a tool": _("instruction to use a tool"),
}

# As rows of earlier versions have them: in the language of the text.
_FORMER: Final[Mapping[str, str]] = {
    "忽略指令": "ignore instructions",
    "新的指令": "new instructions",
    "换个角色": "another role",
    "说出指令": "reveal instructions",
    "瞒着用户": "hide from the person",
    "外传数据": "send data away",
    "记住命令": "remember an order",
    "长期命令": "standing order",
}


def reason_said(found: Mapping[str, Any]) -> str:
    """A reason as it is kept: {reason, detail}. One that is not known stands as it is."""
    name, detail = str(found.get("reason", "")), str(found.get("detail") or "")
    words = str(REASONS.get(name, name))
    if name == FindingReason.HAS_INSTRUCTIONS:
        detail = orders_said(detail)
    return f"{words} ({detail})." if detail else f"{words}."


def orders_said(detail: str) -> str:
    """``detail`` as the gate writes it: each rule, and after a colon the text's own words."""
    return _RULE.sub(lambda one: f"{one[1]}{_rule(one[2])}", detail)


def _rule(name: str) -> str:
    return str(RULES[_FORMER.get(name, name)])


_RULE: Final = re.compile(rf"(^|; )({'|'.join(map(re.escape, (*RULES, *_FORMER)))})(?=: |; |$)")
