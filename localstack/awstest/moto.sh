#!/usr/bin/env bash
# Puts the rules of awstest to moto, which infra/setup.sh crosscheck installs, and fails when one does not hold there that is not in localstack/differences.txt;
# localstack/differences.md explains those. Some hold at times: moto answers concurrent requests without isolation.
#
#   moto.sh            compare
#   moto.sh --write    show the whole report and add what is new to differences.txt
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."
moto="$PWD/../.tools/moto/bin/moto_server"
known="$PWD/differences.txt"
work=$(mktemp -d)
[ -f "$known" ] || : >"$known"
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
MOTO_ACCOUNT_ID=000000000000 "$moto" -H 127.0.0.1 -p "$port" >"$work/moto.log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in $(seq 100); do
  curl -fs -o /dev/null "http://127.0.0.1:$port/moto-api/" && break
  kill -0 "$server" 2>/dev/null || { cat "$work/moto.log" >&2; echo "moto ended; see the lines above" >&2; exit 1; }
  sleep 0.2
done
SEALIFT_AWS_ENDPOINT="http://127.0.0.1:$port" go test -json -count=1 -timeout 10m -tags aws ./dynamodb ./sqs ./scheduler ./storage >"$work/tests.json" || true
go run ./awstest/tally <"$work/tests.json" >"$work/report" || true
grep -E 'rules, .* hold, ' "$work/report" || { cat "$work/report" >&2; exit 1; }
sed -nE 's/^([a-z]+: Test[^ ]*)$/\1/p' "$work/report" | sort >"$work/found"
if [ "${1:-}" = --write ]; then
  sort -u "$known" "$work/found" -o "$known"
  cat "$work/report"
elif new=$(comm -13 <(sort "$known") "$work/found") && [ -n "$new" ]; then
  cat "$work/report"
  echo "rules that do not hold at moto and are not in localstack/differences.txt:" >&2
  echo "$new" >&2
  echo "decide who is right, write it to localstack/differences.md, then run localstack/awstest/moto.sh --write" >&2
  exit 1
fi
