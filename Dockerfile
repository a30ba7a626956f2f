# Builds a wheel, and an image without a compiler that serves a model:
#   docker build -t sklearn-xc .
#   docker run -v $PWD/tagger:/models -p 8000:8000 sklearn-xc /models/tagger.sxc
FROM python:3.12 AS build
COPY . /src
RUN pip wheel --no-deps --wheel-dir /wheels /src

FROM python:3.12-slim
RUN apt-get update && apt-get install --yes --no-install-recommends libgomp1 && rm -rf /var/lib/apt/lists/*
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/*.whl)[serve]"
ENTRYPOINT ["sklearn-xc", "serve", "--host", "0.0.0.0"]
