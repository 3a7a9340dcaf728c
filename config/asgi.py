"""The web server's entry: uvicorn config.asgi:application."""

import os

from django.core.asgi import get_asgi_application

from config.assets import Assets


os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = Assets(get_asgi_application())
