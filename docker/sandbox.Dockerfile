# What code of users and agents runs in, with SANDBOX_DRIVER=docker. Put in what your teams need; declare no VOLUME.
# Build it where the sandboxes run: docker build -f docker/sandbox.Dockerfile -t atelier-sandbox docker
FROM node:24-bookworm-slim
RUN apt-get update \
  && apt-get install -y --no-install-recommends build-essential ca-certificates curl git jq python3 ripgrep unzip zip \
  && rm -rf /var/lib/apt/lists/*
