"""The reasons for a quarantine, in the reader's language.

An entry stores the name of the reason, and the name of each rule that the text matched with the matching words.
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
    "claim of authority": _("claim of authority"),
    "data in an address": _("data in an address"),
    "order to use a tool": _("instruction to use a tool"),
}

# Rule names as earlier versions stored them, in the language of the text.
_OLD_NAMES: Final[Mapping[str, str]] = {
    "忽略指令": "ignore instructions",
    "新的指令": "new instructions",
    "换个角色": "another role",
    "说出指令": "reveal instructions",
    "瞒着用户": "hide from the person",
    "外传数据": "send data away",
    "记住命令": "remember an order",
    "长期命令": "standing order",
}


def describe_reason(finding: Mapping[str, Any]) -> str:
    """Describe a stored finding with its reason and detail. An unknown reason is shown as it is stored."""
    name, detail = str(finding.get("reason", "")), str(finding.get("detail") or "")
    label = str(REASONS.get(name, name))
    if name == FindingReason.HAS_INSTRUCTIONS:
        detail = describe_rules(detail)
    return f"{label} ({detail})." if detail else f"{label}."


def describe_rules(detail: str) -> str:
    """Translate the rule names in a detail that the content filter wrote: each rule, a colon and the matching words."""
    return _RULE.sub(lambda match: f"{match[1]}{_label_rule(match[2])}", detail)


def _label_rule(name: str) -> str:
    return str(RULES[_OLD_NAMES.get(name, name)])


_RULE: Final = re.compile(rf"(^|; )({'|'.join(map(re.escape, (*RULES, *_OLD_NAMES)))})(?=: |; |$)")
