"""Questions to people, as far as the worker that pauses a run needs it: whom they ask, their links, and their mails."""
