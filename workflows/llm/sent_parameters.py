"""The settings of a document's model that are sent to models. The openai package isn't needed to know them."""

from typing import Final


# Part of the OpenAI protocol.
STANDARD_PARAMETERS: Final = frozenset(
    {"temperature", "top_p", "max_tokens", "max_completion_tokens", "presence_penalty",
     "frequency_penalty", "seed", "stop", "logit_bias", "reasoning_effort", "verbosity"}
)  # fmt: skip
# Understood by many compatible servers; the openai package would refuse them as arguments.
EXTRA_PARAMETERS: Final = frozenset(
    {"top_k", "min_p", "repetition_penalty", "repeat_penalty", "enable_thinking", "thinking_budget"}
)
SENT_PARAMETERS: Final = STANDARD_PARAMETERS | EXTRA_PARAMETERS
