"""Published workflows as models of the OpenAI API: what OpenAI's own clients, and those made for its API, call.

A request becomes a run of a published version (``completions``); its answer is read from the events of the run
(``answers``), whether it is streamed or sent at the end. Errors have OpenAI's shape (``errors``).
"""
