# edgefl for processors, without CUDA:
#   docker build --tag edgefl .
#   docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD/results:/results" edgefl       # the demo: results/demo/report.html
#   docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/work" --workdir /work edgefl run my-scenario.yaml
# The digest is that of python:3.12-slim for all platforms in October 2026 (Python 3.12.15), as public Dockerfiles of that month have it; it was not pulled to
# check it. To take a newer one: docker buildx imagetools inspect python:3.12-slim
FROM python:3.12-slim@sha256:dddfd7e07f9d15aeeca61529320492139d21cac7f0070c00609243e51e4e0016

# PyTorch's wheels for processors, in a layer of their own: it is built again only when versions change.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
WORKDIR /opt/edgefl
COPY packaging/constraints.txt ./
RUN pip install --no-cache-dir --constraint constraints.txt --index-url "$TORCH_INDEX" --no-deps torch torchvision

COPY pyproject.toml README.md LICENSE ./
COPY channel channel
COPY edgefl edgefl
COPY scenarios scenarios
# KubeRay submits jobs to Ray's dashboard, which ray[default] has, and older versions of KubeRay check nodes by wget.
RUN apt-get update && apt-get install --yes --no-install-recommends wget && rm -rf /var/lib/apt/lists/*
RUN pip install --no-cache-dir --constraint constraints.txt '.[plot,ray]' 'ray[default]' && mkdir --mode=777 /results

# `docker run --user` names the user, so that results belong to that user, who has no home here.
ENV HOME=/tmp
USER 1000
WORKDIR /results
ENTRYPOINT ["edgefl"]
CMD ["run", "quickstart", "--out", "/results/demo", "--overwrite"]
