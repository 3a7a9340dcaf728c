"""The event streams of Dify's service API: our events, translated into Dify's."""
