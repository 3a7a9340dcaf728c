"""Model providers: offline, and whatever speaks the OpenAI protocol."""
