# edgefl for processors, without CUDA:
#   docker build --tag edgefl .
#   docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD/results:/results" edgefl       # the demo: results/demo/report.html
#   docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/work" --workdir /work edgefl run my-scenario.yaml
FROM python:3.12-slim

# PyTorch's wheels for processors, in a layer of their own: it is built anew only when versions change.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
WORKDIR /opt/edgefl
COPY constraints.txt ./
RUN pip install --no-cache-dir --constraint constraints.txt --index-url "$TORCH_INDEX" --no-deps torch torchvision

COPY pyproject.toml README.md LICENSE ./
COPY channel channel
COPY edgefl edgefl
COPY scenarios scenarios
RUN pip install --no-cache-dir --constraint constraints.txt . && mkdir --mode=777 /results

# Whoever runs it names the user, so that results belong to that user; such a user has no home here.
ENV HOME=/tmp
USER 1000
WORKDIR /results
ENTRYPOINT ["edgefl"]
CMD ["run", "quickstart", "--out", "/results/demo", "--overwrite"]
