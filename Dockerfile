# One image for web server, worker and beat; the command decides.
FROM python:3.11-slim

ENV PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /app

COPY requirements.txt .
RUN pip install --requirement requirements.txt \
    && useradd --system --create-home --home-dir /var/lib/mnemoflow-app mnemoflow \
    && install -d -o mnemoflow -m 700 /var/lib/mnemoflow-audit /var/lib/mnemoflow-files
COPY --chown=root:root . .
# Here, because the process may not write beside the code.
RUN python -c "from config.translations import compile_outdated; compile_outdated(['locale'])"

# The code is read-only to the process; only its home is not.
USER mnemoflow
ENV MNEMOFLOW_HOME=/var/lib/mnemoflow-app HOST=0.0.0.0
EXPOSE 8000
CMD ["uvicorn", "config.asgi:application", "--host", "0.0.0.0", "--port", "8000", "--lifespan", "off", "--timeout-graceful-shutdown", "10", "--no-server-header", "--no-proxy-headers"]
