"""Model providers: the offline one, and every endpoint that speaks the OpenAI protocol."""
