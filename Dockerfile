# otchat in a container: `docker build -t otchat .`
FROM swift:6.2-bookworm AS build
WORKDIR /otchat
RUN apt-get update && apt-get install -y --no-install-recommends make
COPY scripts/setup scripts/setup
RUN scripts/setup build package
COPY . .
RUN make deb && mv .build/otchat_*.deb /otchat.deb

FROM debian:bookworm-slim
RUN --mount=type=bind,from=build,source=/otchat.deb,target=/otchat.deb \
    apt-get update && apt-get install -y ca-certificates /otchat.deb && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home otchat
USER otchat
WORKDIR /home/otchat
ENTRYPOINT ["otchat"]
CMD ["--help"]
