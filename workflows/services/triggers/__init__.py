"""Triggers: their activation by publishing, the calls of webhooks, and the times of schedules."""
