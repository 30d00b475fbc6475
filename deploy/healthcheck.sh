#!/bin/bash
# Docker's health check. It fails if the replica is not ready.
# It does not start Node.js, because on a busy machine that start takes longer than the limit of the check.
exec 3<>"/dev/tcp/${MANAGEMENT_HOST:-${HOST:-127.0.0.1}}/${MANAGEMENT_PORT:-3001}" || exit 1
printf 'GET /health/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3
read -r _ status _ <&3
[ "$status" = 200 ]
