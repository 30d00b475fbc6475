# The image of the service, and the stages that docker-compose uses for the local issuer and the end-to-end tests.

# Every stage copies the files from here. In a clone made with umask 077 only their owner can read them, so this stage
# changes their modes. COPY --chmod would need BuildKit
FROM node:26.10.0-bookworm-slim AS sources
WORKDIR /app
COPY . .
RUN chmod -R u=rwX,go=rX .

FROM node:26.10.0-bookworm-slim AS dependencies
WORKDIR /app
COPY --from=sources /app/package.json /app/package-lock.json /app/.npmrc ./
RUN npm ci --no-audit --no-fund

FROM dependencies AS build
COPY --from=sources /app/nest-cli.json /app/tsconfig.json /app/tsconfig.build.json ./
COPY --from=sources /app/src src
RUN npm run build

FROM node:26.10.0-bookworm-slim AS production-dependencies
WORKDIR /app
COPY --from=sources /app/package.json /app/package-lock.json /app/.npmrc ./
# Type declarations and source maps are half of the size, and the program does not read them
RUN npm ci --omit=dev --omit=optional --no-audit --no-fund \
  && find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -delete \
  && rm -rf node_modules/typeorm/browser

# The local OAuth 2.0 server. DANGER: it signs in everybody. Use it for development only
FROM build AS issuer
ENV NODE_ENV=development
USER node
CMD ["node", "dist/demo/issuer-main.js"]

# The end-to-end tests, which call a running service
FROM build AS e2e
COPY --from=sources /app/jest.config.js ./
COPY --from=sources /app/migrations migrations
COPY --from=sources /app/scripts scripts
COPY --from=sources /app/test test
USER node
CMD ["node", "--experimental-vm-modules", "node_modules/jest/bin/jest.js", "--cacheDirectory=/tmp/jest", "test/black-box"]

FROM build AS dist
RUN rm -rf dist/demo && find dist -name '*.map' -delete

FROM node:26.10.0-bookworm-slim AS service
WORKDIR /app
LABEL org.opencontainers.image.version=1.0.0
ENV NODE_ENV=production
# Node.js runs two DNS lookups at a time. If an issuer's DNS server hangs, its lookups delay those of all other issuers.
# With glibc's own limits this would take 10 to 30 s
ENV RES_OPTIONS="timeout:1 attempts:3"
COPY --from=sources /app/package.json ./
COPY --from=production-dependencies /app/node_modules node_modules
COPY --from=dist /app/dist dist
COPY --from=sources /app/migrations migrations
COPY --from=sources /app/deploy/healthcheck.sh ./
# A number, because from a name Kubernetes cannot see that the user is not root
USER 1000:1000
EXPOSE 3000 3001
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s --retries=3 CMD ["bash", "healthcheck.sh"]
# A small young generation of V8 saves 40 MiB, and costs 3 % more CPU time for each request
CMD ["node", "--max-semi-space-size=8", "dist/main.js"]
