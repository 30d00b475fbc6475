#!/bin/bash
# Docker's health check in the image: whether the replica is ready.
# Without Node.js: a probe that has to start it takes longer than its limit on a busy machine.
exec 3<>"/dev/tcp/${MANAGEMENT_HOST:-${HOST:-127.0.0.1}}/${MANAGEMENT_PORT:-3001}" || exit 1
printf 'GET /health/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3
read -r _ status _ <&3
[ "$status" = 200 ]
