"""Writes a tree as YAML text that every reader parses to the same values."""

import re
from typing import Any, Final

import yaml

from workflows.engine.language.document import Json


# Strings that some YAML 1.1 or 1.2 reader parses as a number, a boolean or a merge key.
_AMBIGUOUS: Final = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|0[oOxXbB][0-9a-fA-F_]+"
    r"|[yYnN]|<<|=|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?"
)
# Strings that a literal block keeps exactly: plain lines, no trailing spaces, no unusual line ends.
_BLOCK: Final = re.compile(r"(?!\s)[^\t\r\x85\u2028\u2029\ufeff]*\n[^\t\r\x85\u2028\u2029\ufeff]*")


def to_yaml(tree: Json) -> str:
    return yaml.dump(tree, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**30)


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        # No aliases: our reader rejects them, and they are hard to read.
        return True


def _represent_text(dumper: Any, text: str) -> Any:
    style = None
    if _AMBIGUOUS.fullmatch(text):
        style = "'"
    elif "\n" in text and _BLOCK.fullmatch(text) and not re.search(r" +(?:\n|$)", text):
        style = "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)
