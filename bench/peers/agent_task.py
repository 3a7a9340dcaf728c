"""The task of the agents that `bench.engine` compares: 50 rounds, each with one call of a tool that adds two numbers.

Every script gives its agent these messages and lets a fake model answer in the way of its framework.
"""

ROUNDS = 50
INSTRUCTION = "Add the numbers one after the other. Call the tool for each sum."
QUESTION = "What is the sum of the numbers from 0 to 50?"
ANSWER = "The sum of the numbers from 0 to 50 is 1275."
TOKENS = (40, 12)  # of each answer of the model: prompt, completion


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def describe_round(number: int) -> tuple[str, dict[str, int]]:
    """Return what the model writes in a round, counted from 0, and the arguments of its call."""
    return f"I add {number + 1} to the sum so far.", {
        "a": number * (number + 1) // 2,
        "b": number + 1,
    }


def check_answer(text: str, rounds: int) -> None:
    """Raise ``RuntimeError`` unless an agent has made all its calls and then given its answer."""
    if text.strip() != ANSWER or rounds != ROUNDS:
        raise RuntimeError(f"{rounds} rounds: {text}")
