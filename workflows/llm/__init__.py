"""Model providers: the offline provider, and a client for endpoints with the OpenAI protocol."""
