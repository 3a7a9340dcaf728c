"""The labels by which a clause is judged. The probes are trained on them (``bench/judgement``)."""

from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    """The kind says what a clause is for memory."""

    FACT = "fact"  # about the speaker, or about somebody or something of theirs
    INSTRUCTION = "instruction"  # how the assistant is to behave from now on
    FORGET = "forget"  # asks to forget something, or not to keep it
    QUESTION = "question"
    REQUEST = "request"
    GREETING = "greeting"
    THANKS = "thanks"
    REACTION = "reaction"  # an acknowledgement, laughter, an opinion about the answer
    CONFUSION = "confusion"
    GENERAL = "general"  # about the world, not about the speaker
    HYPOTHETICAL = "hypothetical"
    ROLEPLAY = "roleplay"
    MOMENT = "moment"  # a state that doesn't matter tomorrow
    CODE = "code"
    FRAGMENT = "fragment"  # not a clause by itself
    OTHER = "other"


# A clause of one of these may stand beside a fact in the same sentence: "I live in Lyon, where can I eat?"
ASKING: Final = frozenset({Kind.QUESTION, Kind.REQUEST, Kind.FORGET, Kind.INSTRUCTION})
STORED: Final = frozenset({Kind.FACT, Kind.INSTRUCTION})


class Attribute(StrEnum):
    """The attribute says what a fact is about."""

    NAME = "name"
    HOME = "home"
    ORIGIN = "origin"
    WORK = "work"
    EMPLOYER = "employer"
    EDUCATION = "education"
    AGE = "age"
    BIRTHDAY = "birthday"
    PHONE = "phone"
    MAIL = "mail"
    ADDRESS = "address"
    PARTNER = "partner"
    FAMILY = "family"
    PETS = "pets"
    DIET = "diet"
    ALLERGY = "allergy"
    HEALTH = "health"
    LIKES = "likes"
    DISLIKES = "dislikes"
    LANGUAGE = "language"
    POSSESSIONS = "possessions"
    PLANS = "plans"
    SCHEDULE = "schedule"
    PROJECT = "project"
    OTHER = "other"


# What is about one thing under several names: who changes the employer may say it by the work. Of the topics in
# ``SINGLE`` a person has one value at a time, so a new value takes the place of the known one.
SINGLE: Final = (
    frozenset({Attribute.NAME}),
    frozenset({Attribute.HOME, Attribute.ADDRESS}),
    frozenset({Attribute.WORK, Attribute.EMPLOYER}),
    frozenset({Attribute.AGE}),
    frozenset({Attribute.BIRTHDAY}),
    frozenset({Attribute.PHONE}),
    frozenset({Attribute.MAIL}),
)
SEVERAL: Final = (
    frozenset({Attribute.PARTNER}),
    frozenset({Attribute.PETS}),
    frozenset({Attribute.DIET, Attribute.ALLERGY, Attribute.HEALTH}),
    frozenset({Attribute.LIKES, Attribute.DISLIKES}),
    frozenset({Attribute.POSSESSIONS}),
    frozenset({Attribute.PLANS, Attribute.PROJECT, Attribute.SCHEDULE}),
    frozenset({Attribute.FAMILY}),
    frozenset({Attribute.LANGUAGE}),
    frozenset({Attribute.EDUCATION}),
    frozenset({Attribute.ORIGIN}),
)
TOPICS: Final = (*SINGLE, *SEVERAL)  # OTHER is none
# Whose facts are also about the partner or the animal itself: "we broke up", "Rex died".
SHARED: Final = (frozenset({Attribute.PARTNER}), frozenset({Attribute.PETS}))


class About(StrEnum):
    SELF = "self"  # the speaker
    OTHER = "other"  # somebody or something of theirs


class Concern(StrEnum):
    """The concern says whether what is known about the person bears on a message."""

    PERSON = "person"  # the person, or somebody or something of theirs
    WORLD = "world"  # what is the same whoever asks: "What is 6 times 7?"


class AskedTime(StrEnum):
    """The asked time says of a question about the person whether it is answered by what holds now."""

    NOW = "now"  # also "Where was I born?": the answer still holds
    FORMER = "former"  # by what stopped holding: "What was my old phone number?"


class Wish(StrEnum):
    """The wish says what somebody means who asks to forget something."""

    NAMED = "named"  # "Forget my phone number"
    LATEST = "latest"  # what was said last: "Forget that"


class Change(StrEnum):
    NONE = "none"
    CHANGED = "changed"  # something took the place of an earlier state
    ENDED = "ended"  # something is no longer so
    PAST = "past"  # something was so once, which says nothing about today
