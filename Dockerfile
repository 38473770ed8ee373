# The collector as an image: small, without root, with a read-only root file system if you like (see compose.yaml).
#
#   docker build -t discreet .
#   docker run --rm -p 8000:8000 -v discreet-data:/data discreet
#
# tests/test_deployment.py checks this file; `make newcomer` runs its steps in a fresh environment.

FROM python:3.11-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src ./src
COPY clients ./clients
RUN python -m venv /opt/discreet \
 && /opt/discreet/bin/pip install --no-cache-dir --disable-pip-version-check -c constraints.txt ".[service,oidc,plots]"

FROM python:3.11-slim
LABEL org.opencontainers.image.title="discreet" \
      org.opencontainers.image.description="A collector for statistics under local differential privacy" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN useradd --system --uid 10001 --home-dir /data --shell /usr/sbin/nologin discreet \
 && install -d -o discreet -g discreet -m 0700 /data /var/cache/discreet
COPY --from=build /opt/discreet /opt/discreet
ENV PATH=/opt/discreet/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    NUMBA_CACHE_DIR=/var/cache/discreet \
    DISCREET_DATABASE=/data/collector.db \
    DISCREET_HOST=0.0.0.0
USER 10001
WORKDIR /data
# Compiled kernels are made now rather than at the first question. The cache must stay writable, hence the volume.
RUN ["discreet", "warm-up"]
VOLUME ["/data", "/var/cache/discreet"]
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
  CMD ["python", "-c", "import json, urllib.request as r; assert json.load(r.urlopen('http://127.0.0.1:8000/health', timeout=4))['status'] == 'ok'"]
CMD ["discreet", "serve"]
