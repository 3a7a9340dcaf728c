"""A chat of two hundred messages, most of them talk; a model that reads it; and what was made of it.

The facts and the talk are made here from a seed, none of them is among those the rules were written
by. The model is a script behind the OpenAI protocol: it gives the facts it is shown, lets one message
of talk in fifteen through, and breaks the JSON of its answers in a different way each time.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any

from memory.logic.entries.duplicates import Likeness, compare_values


TOTAL, FACTS, REPEATED = 200, 18, 6
SLIPS = 15
CURATOR = "You keep the memory of a team"

THINGS = [
    "billing",
    "search",
    "mail",
    "orders",
    "reports",
    "login",
    "payroll",
    "stock",
    "backup",
    "maps",
    "survey",
    "archive",
]
PEOPLE = [
    "Ines",
    "Jonas",
    "Priya",
    "Marek",
    "Aiko",
    "Louis",
    "Freya",
    "Tariq",
    "Noor",
    "Emil",
    "Vera",
    "Hugo",
]
CITIES = ["Porto", "Graz", "Turin", "Ghent", "Malmö", "Kraków", "Nantes", "Bilbao"]
FIRMS = ["Umbra", "Kestrel", "Nordwind", "Halden", "Ostara", "Quillon"]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Saturday", "Sunday"]
FOODS = ["walnuts", "shellfish", "celery", "sesame", "mustard"]

TOLD = (
    "The {thing} database is copied to the standby every {day} night.",
    "We decided to replace the {thing} queue with a table in PostgreSQL.",
    "{person} moved to {city} and works from there since March.",
    "The {thing} API accepts at most {n} requests a minute.",
    "Our customer {firm} prefers its invoices on paper.",
    "The outage of {thing} was caused by a full disk.",
    "{person} is allergic to {food}, so the kitchen must know.",
    "Raising the {thing} timeout to {n} seconds fixed the lost jobs.",
    "Deployments of {thing} are forbidden after {n} o'clock because nobody is there.",
    "{thing} 的密码每{n}天必须更换一次。",
)
TALK = (
    "Hi {person}!", "Hello everyone", "Good morning {person}", "Bye, see you tomorrow", "早上好！",
    "Thanks {person}!", "Thank you so much, that helps", "You're welcome", "谢谢{person}", "不客气",
    "ok", "Okay {person}, sounds good.", "Sure, no problem", "Got it.", "Yes", "好的", "收到", "Great!",
    "Can you look at {thing} for me?", "Is {thing} open for you?", "What do you think, {person}?",
    "你看到了吗？", "Did anybody see my umbrella?", "Shall we start in {n} minutes?",
    "Let me look at {thing} for you.", "One moment please", "Working on it...", "请稍等",
    "Here is what I found about {thing}:", "I'll get to {thing} right away.",
    "Downloading {thing} {n}%", "Step {n} of 99 complete", "Processing...", "正在处理……",
    "2026-03-04 10:{n}:01 INFO {thing} started", "10:{n}:55 GET /{thing} 200", "[DEBUG] {thing} took {n}",
    "import {thing}", "const {thing} = {n};", "return {n};", "def {thing}():", "$ ls {thing}", "}}",
    "https://example.com/{thing}/{n}", "I'm so tired today", "What a day", "Sorry, my bad", "哈哈哈",
    "The weather is lovely today", "How was your weekend, {person}?", "Happy to help with {thing}!",
    "Let me know if you need anything else.", "As an AI language model, I can't see {thing}.", "👍", "...",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Chat:
    messages: tuple[str, ...]
    facts: tuple[str, ...]
    talk: tuple[str, ...]


def chat(seed: int) -> Chat:
    """Some of the facts are said twice, in nearly the same words."""
    random = Random(seed)
    facts = [_filled(TOLD[number % len(TOLD)], random, number) for number in range(FACTS)]
    again = [f"{fact.rstrip('.。')}!" for fact in facts[: REPEATED // 2]]
    again += [
        f"{fact[0].lower()}{fact[1:].rstrip('.。')}" for fact in facts[REPEATED // 2 : REPEATED]
    ]
    left = TOTAL - len(facts) - len(again)
    talk = [_filled(random.choice(TALK), random, random.randrange(60)) for _ in range(left)]
    said = [*facts, *again, *talk]
    random.shuffle(said)
    return Chat(tuple(said), tuple(facts), tuple(talk))


@dataclass(frozen=True, slots=True)
class Judged:
    """Of what was learnt: ``found`` facts, ``junk`` that came through, ``doubles`` of something."""

    facts: int
    found: int
    talk: int
    junk: int
    doubles: int

    @property
    def kept_out(self) -> float:
        return 1 - self.junk / self.talk

    @property
    def remembered(self) -> float:
        return self.found / self.facts


def judged(said: Chat, learnt: Sequence[str]) -> Judged:
    """What is neither a fact nor a message of the chat is junk, too."""
    told = [next((fact for fact in said.facts if _same(fact, one)), None) for one in learnt]
    found = {one for one in told if one is not None}
    junk = [one for one, fact in zip(learnt, told, strict=True) if fact is None]
    doubles = len(learnt) - len(found) - len(_each_once(junk))
    return Judged(len(said.facts), len(found), len(said.talk), len(junk), doubles)


class Script:
    """``refuses``: from now on it gives no JSON at all."""

    def __init__(self) -> None:
        self.refuses = False
        self.asked = 0
        self._facts: set[str] = set()
        self._calls = count()

    def knows(self, said: Chat) -> None:
        self._facts |= {
            one for one in said.messages if any(_same(fact, one) for fact in said.facts)
        }

    def answer(self, prompt: str) -> str:
        """To the curator's question. Broken in every way that can be mended, one after the other."""
        self.asked += 1
        if self.refuses:
            return "I would rather not say."
        outputs = prompt.split("## Output\n~~~~\n")[1].split("\n~~~~")[0].split("\n\n")
        talk = [one for one in outputs if one not in self._facts]
        told = [one for one in outputs if one in self._facts] + talk[::SLIPS]
        text = json.dumps(
            {"summary": f"They talked: {outputs[0]}", "key_learnings": told, "category": "Result"},
            ensure_ascii=False,
        )
        return _SPOILT[next(self._calls) % len(_SPOILT)](text)


def document(model: dict[str, Any]) -> dict[str, Any]:
    """start → llm → end; what was said comes out again, as a chat's history does."""
    return {
        "version": "0.1.0",
        "nodes": [
            {"id": "start", "data": {"type": "start", "title": "Start", "variables": [
                {"variable": "said", "type": "array[string]", "required": True}]}},
            {"id": "llm", "data": {"type": "llm", "title": "Reply", "model": model,
                "prompt_template": [{"role": "user", "text": "Reply to the chat."}]}},
            {"id": "end", "data": {"type": "end", "title": "End", "outputs": [
                {"variable": "said", "value_selector": ["start", "said"]},
                {"variable": "reply", "value_selector": ["llm", "text"]}]}},
        ],
        "edges": [{"id": "a", "source": "start", "target": "llm"},
                  {"id": "b", "source": "llm", "target": "end"}],
    }  # fmt: skip


_SPOILT = (
    lambda text: text,
    lambda text: f"Here you are:\n```json\n{text}\n```\nAnything else?",
    lambda text: text.replace("]", ",]"),
    lambda text: text.replace('{"summary"', "{summary"),
    lambda text: text[:-1],
    lambda text: text.replace('"category"', "/* which? */ 'category'"),
)


def _filled(form: str, random: Random, number: int) -> str:
    return form.format(
        thing=THINGS[number % len(THINGS)],
        person=PEOPLE[(number * 5 + 1) % len(PEOPLE)],
        city=random.choice(CITIES),
        firm=FIRMS[number % len(FIRMS)],
        day=random.choice(DAYS),
        food=FOODS[number % len(FOODS)],
        n=10 + number,
    )


def _same(one: str, other: str) -> bool:
    return compare_values(one, other) is not Likeness.DIFFERENT


def _each_once(texts: Iterable[str]) -> list[str]:
    kept: list[str] = []
    for text in texts:
        if not any(_same(text, one) for one in kept):
            kept.append(text)
    return kept
