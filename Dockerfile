# The official image with the extension:
#   docker build --build-arg PG=18 -t postgres-workflow .
ARG PG=18
FROM postgres:${PG}-bookworm AS build
ARG PG
RUN apt-get update && apt-get install -y --no-install-recommends \
        ca-certificates clang curl gcc git libclang-dev libicu-dev make postgresql-server-dev-${PG} \
    && curl -sSf https://sh.rustup.rs | sh -s -- -y --profile minimal
ENV PATH=/root/.cargo/bin:$PATH
WORKDIR /workflow
COPY . .
RUN make && make install DESTDIR=/installed

FROM postgres:${PG}-bookworm
COPY --from=build /installed/ /
