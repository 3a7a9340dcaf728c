"""Keeps the messages of a long agent within the context window of its model.

Older results of tools are shortened, in the end to the number of their characters, so that the model still reads which
calls it made. Only if the calls alone don't fit, the oldest rounds are left out whole, a call with its result. The first prompt, with all that people wrote, is never touched. What is sent depends on the
messages alone: an agent that continues after a crash sends the same.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, product
from typing import Final

from workflows.engine.ports import Message
from workflows.engine.tool_calls import ToolSpec


# Kept free for the answer, if the model's settings do not say how long it may be; at most a part of the window.
_RESERVED: Final = 2_048
_MAX_RESERVED_SHARE: Final = 0.5
# Characters that are left of a result, in the order in which they are tried.
_LENGTHS: Final = (2_000, 200, 0)
_LENGTHS_OF_NEWEST: Final = (2_000, 200)
_PER_MESSAGE: Final = 4  # tokens
_PER_IMAGE: Final = 1_000


def get_budget(window: int, tools: Sequence[ToolSpec], max_answer: object = None) -> int:
    """Return how many tokens the messages may have beside the tools and an answer of ``max_answer`` tokens."""
    is_set = isinstance(max_answer, int) and max_answer > 0
    reserved = max_answer if isinstance(max_answer, int) and is_set else _RESERVED
    described = sum(
        _estimate_text(f"{tool.name}{tool.description}{tool.parameters}") for tool in tools
    )
    return window - int(min(reserved + described, window * _MAX_RESERVED_SHARE))


def fit_messages(messages: Sequence[Message], first: int, budget: int) -> Sequence[Message]:
    """Return the messages within the budget of tokens, as far as that can be done without the ``first`` ones."""
    if sum(map(_get_most_tokens, messages)) <= budget:
        return messages  # the usual case, without counting exactly
    total = sum(map(estimate_tokens, messages))
    if total <= budget:
        return messages
    fitted = [*messages]
    newest = _find_last_round(fitted, first)
    # The results of the last round, which the model has not read yet, come last.
    older = product((newest,), _LENGTHS)
    for end, length in chain(older, product((len(fitted),), _LENGTHS_OF_NEWEST)):
        for position in range(first, end):
            if total <= budget:
                return fitted
            short = shorten_result(messages[position], length)
            saved = estimate_tokens(fitted[position]) - estimate_tokens(short)
            if saved > 0:
                total -= saved
                fitted[position] = short
    return _drop_oldest(fitted, first, total - budget)


def estimate_tokens(message: Message) -> int:
    """Return about how many tokens a message has: four ASCII characters have one, a Chinese character has one."""
    texts = [message.text, *(call.name + call.arguments for call in message.tool_calls)]
    return sum(map(_estimate_text, texts)) + _PER_MESSAGE + _PER_IMAGE * len(message.images)


def shorten_result(message: Message, length: int) -> Message:
    """Return the message with a shorter text if it is the result of a tool. What a person wrote stays whole."""
    if not is_result(message) or len(message.text) <= length + 100:
        return message
    left_out = len(message.text) - length
    text = f"{message.text[:length]}… (shortened; {left_out:,} more characters)"
    return replace(message, text=text)


def is_result(message: Message) -> bool:
    """Return whether a message that an agent added is the result of a tool. ReAct's are observations."""
    return message.role == "tool" or message.text.startswith("Observation: ")


def _estimate_text(text: str) -> int:
    return len(text) // 4 + 1 if text.isascii() else len(text.encode(errors="replace")) // 3 + 1


def _get_most_tokens(message: Message) -> int:
    """Return a number of tokens that the message surely does not exceed."""
    count = 2 * len(message.text) + _PER_MESSAGE + _PER_IMAGE * len(message.images)
    if message.tool_calls:
        count += sum(2 * len(call.name + call.arguments) for call in message.tool_calls)
    return count


def _drop_oldest(messages: list[Message], first: int, surplus: int) -> list[Message]:
    """Leave out whole rounds from the oldest on, until that many tokens are saved. The last round stays."""
    rounds = [*_iter_rounds(messages, first)]
    end = first
    for start, end_of_round in rounds[:-1]:
        if surplus <= 0:
            break
        surplus -= sum(map(estimate_tokens, messages[start:end_of_round]))
        end = end_of_round
    kept = [
        each
        for each in messages[first:end]
        if each.role in ("user", "system") and not is_result(each)
    ]
    return [*messages[:first], *kept, *messages[end:]]


def _iter_rounds(messages: Sequence[Message], first: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the rounds: an answer of the model, and the results that follow it."""
    starts = [n for n in range(first, len(messages)) if messages[n].role == "assistant"]
    yield from zip(starts, [*starts[1:], len(messages)], strict=True)


def _find_last_round(messages: Sequence[Message], first: int) -> int:
    return next(
        (n for n in range(len(messages) - 1, first - 1, -1) if messages[n].role == "assistant"),
        len(messages),
    )
