"""The input of the curation benchmark: chats of mostly small talk, a scripted model, and the score of a curation.

Facts and small talk are generated from a seed; the rules of curation were not written for them. The model is a script
behind the OpenAI protocol: it returns the facts that it is shown and one message of small talk in fifteen, and breaks
the JSON of its answers in a different way each time.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any

from memory.logic.entries.duplicates import Likeness, compare_values


MESSAGE_COUNT, FACT_COUNT, REPEATED_COUNT = 200, 18, 6
SMALL_TALK_STEP = 15  # the scripted model returns every fifteenth message of small talk
CURATOR_PROMPT = "You keep the memory of a team"  # the beginning of the curator's prompt

THINGS = [
    "billing", "search", "mail", "orders", "reports", "login",
    "payroll", "stock", "backup", "maps", "survey", "archive",
]  # fmt: skip
PEOPLE = [
    "Ines", "Jonas", "Priya", "Marek", "Aiko", "Louis",
    "Freya", "Tariq", "Noor", "Emil", "Vera", "Hugo",
]  # fmt: skip
CITIES = ["Porto", "Graz", "Turin", "Ghent", "Malmö", "Kraków", "Nantes", "Bilbao"]
FIRMS = ["Umbra", "Kestrel", "Nordwind", "Halden", "Ostara", "Quillon"]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Saturday", "Sunday"]
FOODS = ["walnuts", "shellfish", "celery", "sesame", "mustard"]

FACT_TEMPLATES = (
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
SMALL_TALK_TEMPLATES = (
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
    """The messages of a chat in their order, and which of them are facts and small talk."""

    messages: tuple[str, ...]
    facts: tuple[str, ...]
    small_talk: tuple[str, ...]


def make_chat(seed: int) -> Chat:
    """Make a chat, in which some facts occur twice, in nearly the same words."""
    random = Random(seed)
    templates = FACT_TEMPLATES
    facts = [_fill(templates[n % len(templates)], random, n) for n in range(FACT_COUNT)]
    half = REPEATED_COUNT // 2
    repeats = [f"{fact.rstrip('.。')}!" for fact in facts[:half]]
    repeats += [f"{fact[0].lower()}{fact[1:].rstrip('.。')}" for fact in facts[half:REPEATED_COUNT]]
    small_talk = [
        _fill(random.choice(SMALL_TALK_TEMPLATES), random, random.randrange(60))
        for _ in range(MESSAGE_COUNT - len(facts) - len(repeats))
    ]
    messages = [*facts, *repeats, *small_talk]
    random.shuffle(messages)
    return Chat(tuple(messages), tuple(facts), tuple(small_talk))


@dataclass(frozen=True, slots=True)
class Score:
    """Counts of a chat's facts and small talk, and of the facts, junk and duplicates among its memories."""

    facts: int
    stored_facts: int
    small_talk: int
    junk: int
    duplicates: int

    @property
    def rejected_share(self) -> float:
        """Return the share of the small talk that became no memory."""
        return 1 - self.junk / self.small_talk

    @property
    def fact_share(self) -> float:
        """Return the share of the facts that became a memory."""
        return self.stored_facts / self.facts


def score_memories(chat: Chat, memories: Sequence[str]) -> Score:
    """Compare the memories of a chat with its facts. Every memory that is no fact counts as junk."""
    matches = [
        next((fact for fact in chat.facts if _is_same(fact, memory)), None) for memory in memories
    ]
    facts = {fact for fact in matches if fact is not None}
    junk = [memory for memory, fact in zip(memories, matches, strict=True) if fact is None]
    duplicates = len(memories) - len(facts) - len(_list_distinct(junk))
    return Score(len(chat.facts), len(facts), len(chat.small_talk), len(junk), duplicates)


class ScriptedModel:
    """A model that answers the curator by rules. While ``refuses`` is True, it answers without JSON."""

    def __init__(self) -> None:
        self.refuses = False
        self.call_count = 0
        self._facts: set[str] = set()
        self._calls = count()

    def learn(self, chat: Chat) -> None:
        """Remember which messages of this chat are facts."""
        self._facts |= {
            message
            for message in chat.messages
            if any(_is_same(fact, message) for fact in chat.facts)
        }

    def answer(self, prompt: str) -> str:
        """Return the answer as JSON that is broken in a way that the curator can repair. Each call uses the next way."""
        self.call_count += 1
        if self.refuses:
            return "I would rather not say."
        outputs = prompt.split("## Output\n~~~~\n")[1].split("\n~~~~")[0].split("\n\n")
        facts = [output for output in outputs if output in self._facts]
        small_talk = [output for output in outputs if output not in self._facts]
        answer = {
            "summary": f"They talked: {outputs[0]}",
            "key_learnings": facts + small_talk[::SMALL_TALK_STEP],
            "category": "Result",
        }
        text = json.dumps(answer, ensure_ascii=False)
        break_json = _JSON_BREAKERS[next(self._calls) % len(_JSON_BREAKERS)]
        return break_json(text)


def build_document(model: dict[str, Any]) -> dict[str, Any]:
    """Build a workflow (start → llm → end) that outputs its input messages, as a chat's history does."""
    return {
        "version": "0.1.0",
        "nodes": [
            {"id": "start", "data": {"type": "start", "title": "Start", "variables": [
                {"variable": "messages", "type": "array[string]", "required": True}]}},
            {"id": "llm", "data": {"type": "llm", "title": "Reply", "model": model,
                "prompt_template": [{"role": "user", "text": "Reply to the chat."}]}},
            {"id": "end", "data": {"type": "end", "title": "End", "outputs": [
                {"variable": "messages", "value_selector": ["start", "messages"]},
                {"variable": "reply", "value_selector": ["llm", "text"]}]}},
        ],
        "edges": [{"id": "a", "source": "start", "target": "llm"},
                  {"id": "b", "source": "llm", "target": "end"}],
    }  # fmt: skip


_JSON_BREAKERS = (
    lambda text: text,
    lambda text: f"Here you are:\n```json\n{text}\n```\nAnything else?",
    lambda text: text.replace("]", ",]"),
    lambda text: text.replace('{"summary"', "{summary"),
    lambda text: text[:-1],
    lambda text: text.replace('"category"', "/* which? */ 'category'"),
)


def _fill(template: str, random: Random, number: int) -> str:
    return template.format(
        thing=THINGS[number % len(THINGS)],
        person=PEOPLE[(number * 5 + 1) % len(PEOPLE)],
        city=random.choice(CITIES),
        firm=FIRMS[number % len(FIRMS)],
        day=random.choice(DAYS),
        food=FOODS[number % len(FOODS)],
        n=10 + number,
    )


def _is_same(text: str, other: str) -> bool:
    return compare_values(text, other) is not Likeness.DIFFERENT


def _list_distinct(texts: Iterable[str]) -> list[str]:
    distinct: list[str] = []
    for text in texts:
        if not any(_is_same(text, other) for other in distinct):
            distinct.append(text)
    return distinct
