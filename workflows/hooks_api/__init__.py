"""The addresses of webhooks under ``/hooks``, at which other systems start published workflows."""
