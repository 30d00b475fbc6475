#!/bin/sh
# Runs a command of the image in the swarm as the owner of the tables, prints what it prints, and ends with 0 where it succeeded:
#   deploy/swarm/as-owner.sh STACK node dist/migrate.js up
# Needs the secret order_lookup_owner_url, or the one that OWNER_SECRET names. The connection string is seen by this command alone.
set -eu
stack=$1
shift
job=$stack-owner-$$
network=$(docker network ls --quiet --filter "name=^${stack}_default$")
docker service create --quiet --detach --no-resolve-image --with-registry-auth --name "$job" --mode replicated-job --restart-condition none \
  --secret "source=${OWNER_SECRET:-order_lookup_owner_url},target=database_url" --env DATABASE_URL_FILE=/run/secrets/database_url \
  ${network:+--network "$network"} --read-only --cap-drop ALL --no-healthcheck \
  "${API_IMAGE:-order-lookup-services:1.0.0}" "$@" >/dev/null
trap 'docker service rm "$job" >/dev/null' EXIT
while :; do
  state=$(docker service ps --format '{{.CurrentState}} {{.Error}}' "$job")
  case $state in
    Complete*) status=0 ;;
    Failed* | Rejected* | Shutdown* | Orphaned*) status=1 ;;
    *) sleep 1; continue ;;
  esac
  docker service logs --raw "$job"
  [ "$status" = 0 ] || echo "$job: $state" >&2
  exit "$status"
done
