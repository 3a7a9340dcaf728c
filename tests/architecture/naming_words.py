"""The words that no name of ours may be, and those that no docstring begins with."""

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# A variable of this name says nothing about its value; the field has a noun for it.
ODD_VARIABLES = _words(
    """
    one found said told asked known wanted kept given made seen held shown done there here whole
    sought meant begun apart beside elsewhere judged stood shelf glass door guest lent written named
    taken chosen gone left heard counted typed place places near mine theirs own act former drawn
    opened placed packed refused looked brought hidden broken learnt waiting telling talk wants says
    others ways nothing everything somebody something everybody
    """
)
# Irregular participles. Regular ones end in "ed"; REGULAR_VERBS do too, and are verbs.
PARTICIPLES = _words(
    """
    found said told kept asked known made seen held shown done sought meant begun stood lent written
    named taken chosen gone left heard given brought drawn hidden broken learnt bound built caught
    sent spent thrown torn worn grown fallen driven
    """
)
REGULAR_VERBS = frozenset({"embed", "feed", "need", "seed", "shed", "speed", "proceed", "exceed"})
REGULAR_PARTICIPLE = re.compile(r"[a-z]{3,}ed")
# A docstring that begins so has no verb of its own.
FRAGMENT_STARTS = _words(
    """
    What Whose Whether Nothing Who Whom Where How Which Why Whoever Whatever Wherever Whichever
    Somebody Nobody Everything Everybody Of As By Those Its Their Told Said Kept Asked Made Refused
    Newest Oldest Mine Behind Into Out Until Once Never
    """
)


def is_odd_variable(name: str) -> bool:
    return name.strip("_") in ODD_VARIABLES


def is_participle(name: str) -> bool:
    """Return whether a function's name is one participle, such as "opened" or "_told"."""
    word = name.strip("_")
    if word in REGULAR_VERBS:
        return False
    return word in PARTICIPLES or bool(REGULAR_PARTICIPLE.fullmatch(word))


def is_fragment(docstring: str) -> bool:
    """Return whether the docstring begins like a noun phrase without a verb."""
    return re.split(r"[^\w']", docstring.strip(), maxsplit=1)[0] in FRAGMENT_STARTS
