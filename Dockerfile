# The site, its workers and its commands in one image; the first word of a container's command says which:
# `site`, `worker`, `backup`, `models`, or `manage` followed by a command. The target `slim`, which is the default,
# scores what needs no model; `full` has the programs that models need as well, and takes the models from /models.
# scripts/container_steps.sh performs the steps of `slim` without an engine.
ARG BASE=python:3.11-slim@sha256:90744cff8f32887f075c47d747a173ff333e9e98801667af93c357fa9f5e28ff

FROM ${BASE} AS base
# Charts as PDF and PNG take a library and a font.
RUN apt-get update && apt-get install --yes --no-install-recommends fonts-dejavu-core libcairo2 \
    && rm -rf /var/lib/apt/lists/*

FROM base AS build
ENV PYTHONDONTWRITEBYTECODE=1 \
    CITEBOARD_DATA_DIR=/var/lib/citeboard \
    CITEBOARD_STATIC_DIR=/opt/citeboard/gathered
WORKDIR /opt/citeboard
RUN python -m venv /opt/citeboard/.venv
COPY requirements-site.lock ./
RUN --mount=type=cache,target=/root/.cache/pip \
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes \
    --requirement requirements-site.lock
COPY manage.py LICENSE pyproject.toml ./
COPY docs docs
COPY platform platform
COPY tasks tasks
COPY scoring scoring
# What reproduces the five papers is in `full` alone.
RUN rm -r scoring/papers
COPY templates templates
COPY static static
COPY examples examples
COPY scripts/entrypoint.sh scripts/healthcheck.py scripts/fetch_models.py scripts/sbom.py scripts/
RUN .venv/bin/python manage.py collectstatic --no-input --verbosity 0
RUN .venv/bin/python scripts/sbom.py requirements-site.lock > sbom.cdx.json

# Everything but torch by its hash, and torch by its version alone: its builds without CUDA have hashes of their own.
# TORCH_INDEX is the address of the index that has them; pytorch.org names it where one chooses pip and CPU.
FROM build AS build-full
ARG TORCH_INDEX
COPY scoring/papers scoring/papers
COPY requirements.txt requirements.lock ./
RUN --mount=type=cache,target=/root/.cache/pip \
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps \
    --requirement requirements.lock
RUN --mount=type=cache,target=/root/.cache/pip \
    : "${TORCH_INDEX:?give it as a build argument: the index of PyTorch for builds that compute on a CPU}" \
    && grep '^torch==' requirements.txt > torch.txt \
    && .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
    --index-url "$TORCH_INDEX" --requirement torch.txt \
    && .venv/bin/python -m pip check --disable-pip-version-check
RUN .venv/bin/python scripts/sbom.py requirements.lock > sbom.cdx.json

FROM base AS runtime
ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    PYTHONPATH=/opt/citeboard/platform:/opt/citeboard \
    HOME=/var/lib/citeboard \
    CITEBOARD_DATA_DIR=/var/lib/citeboard \
    CITEBOARD_WORK_DIR=/var/cache/citeboard \
    CITEBOARD_MODELS_DIR=/models \
    HF_HOME=/models/huggingface \
    CITEBOARD_STATIC_DIR=/opt/citeboard/gathered \
    CITEBOARD_BIND=0.0.0.0 \
    CITEBOARD_LOG_FORMAT=json
WORKDIR /opt/citeboard
# The code belongs to root and is only read. The site may write to the data folder, to a folder of each container for
# its work, and where backups and models go.
RUN for folder in /var/lib/citeboard /var/cache/citeboard /backups /models; do \
    mkdir -p "$folder" && chown 10001:10001 "$folder" && chmod 700 "$folder" || exit 1; done
VOLUME /var/lib/citeboard /var/cache/citeboard /backups /models
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["/opt/citeboard/.venv/bin/python", "/opt/citeboard/scripts/healthcheck.py"]
ENTRYPOINT ["/bin/sh", "/opt/citeboard/scripts/entrypoint.sh"]
CMD ["site"]

FROM runtime AS full
COPY --from=build-full /opt/citeboard /opt/citeboard

FROM runtime AS slim
COPY --from=build /opt/citeboard /opt/citeboard
