#!/bin/bash
# Docker's health check in the image. Asks for readiness until the first success, for liveness afterwards: swarm mode ends an unhealthy
# replica, and an outage of the database or the issuer, however long, must not end those that wait for its return.
# Without Node.js: a probe that has to start it takes longer than its limit on a busy machine, and ends replicas that serve.
mark=${TMPDIR:-/tmp}/was-ready
question=ready
[ -e "$mark" ] && question=live
exec 3<>"/dev/tcp/127.0.0.1/${MANAGEMENT_PORT:-3001}" || exit 1
printf 'GET /health/%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' "$question" >&3
read -r _ status _ <&3
[ "$status" = 200 ] || exit 1
: >"$mark"
