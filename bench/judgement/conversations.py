"""Plays the held-out conversations: only the judgement, without a workflow and a database."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from memory.logic.judgement.judge import Judge
from memory.logic.judgement.operations import Action, KnownFact


FILE: Final = Path(__file__).with_name("conversations.yml")
UNRELATED: Final = "unrelated"  # about recall, which `bench.meaning` measures

_failed: list[str] = []


@dataclass
class Memory:
    """The facts that hold, by id, and what the last turn stored."""

    facts: dict[str, str] = field(default_factory=dict)
    latest: list[str] = field(default_factory=list)
    count: int = 0

    def hear(self, text: str, judge: Judge) -> None:
        facts = [KnownFact(*item) for item in self.facts.items()]
        operations = judge.decide(judge.judge_message(text), facts, self.latest)
        self.latest = []
        for operation in operations:
            if operation.action is not Action.ASK:  # the person would choose
                for target in operation.targets:
                    self.facts.pop(target, None)
            is_new = operation.text not in self.facts.values()
            if operation.action in (Action.ADD, Action.REPLACE) and is_new:
                self.count += 1
                self.facts[f"e{self.count}"] = operation.text
                self.latest.append(f"e{self.count}")


def play_conversations(judge: Judge) -> dict[str, tuple[int, int]]:
    """Return how many conversations of each kind pass, and how many there are."""
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    _failed.clear()
    for case in yaml.safe_load(FILE.read_text(encoding="utf-8")):
        kind = case["name"].split()[0]
        if kind != UNRELATED:
            passes = _play(case["turns"], judge)
            right[kind] += passes
            total[kind] += 1
            _failed.extend([] if passes else [case["name"]])
    return {kind: (right[kind], total[kind]) for kind in total}


def list_turns() -> list[str]:
    """Return what is said in all conversations, each text once, in their order."""
    cases = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return [*dict.fromkeys(turn["say"] for case in cases for turn in case["turns"])]


def list_failed() -> list[str]:
    return [*_failed]


def _play(turns: list[dict[str, Any]], judge: Judge) -> bool:
    memory = Memory()
    results = []
    for turn in turns:
        memory.hear(turn["say"], judge)
        results += [_passes(check, memory) for check in turn.get("checks", ())]
    return all(results)


def _passes(check: dict[str, Any], memory: Memory) -> bool:
    value = str(check["value"])
    if check["of"] == "written.count":
        return len(memory.latest) == int(value)
    if check["of"] == "written":
        return any(value in memory.facts[written] for written in memory.latest)
    contains = any(value in text for text in memory.facts.values())
    return contains if check.get("operator", "contains") == "contains" else not contains
