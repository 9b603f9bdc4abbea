#!/usr/bin/env bash
# Installs what the tests and checks need and this machine lacks: PostgreSQL's and MariaDB's server programs, the
# zip tools and office programs that prove files readable, and, when asked for, the linters. Safe to run again; quick
# when nothing is missing.
#
#   infra/setup.sh tests    what `make test` needs
#   infra/setup.sh lint     what `make lint` and `make check` need
#   infra/setup.sh crosscheck  what `make test-aws-moto` needs
#   infra/setup.sh bench    what `make bench` needs, and the programs it measures beside Sealift
set -euo pipefail
cd "$(dirname "$0")/.."
tools="$PWD/.tools"
golangci_version=v2.15.0
cfn_lint_version=1.51.0
moto_version=5.2.5
openpyxl_version=3.1.5
duckdb_version=2.0.1
pyarrow_version=26.0.1

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

packages() { # program package …: installs the packages whose program is missing
  local missing=()
  while [ $# -gt 0 ]; do
    command -v "$1" >/dev/null 2>&1 || missing+=("$2")
    shift 2
  done
  [ ${#missing[@]} -eq 0 ] && return
  if ! command -v apt-get >/dev/null; then
    echo "setup: missing: ${missing[*]}. Install them with this system's package manager." >&2
    exit 1
  fi
  echo "setup: installing ${missing[*]}" >&2
  as_root apt-get update -qq
  # Only the programs are wanted: without this, Debian also creates and starts a server of its own.
  if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
    as_root mkdir -p /etc/postgresql-common
    echo 'create_main_cluster = false' | as_root tee /etc/postgresql-common/createcluster.conf >/dev/null
  fi
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

postgres_programs() {
  command -v initdb >/dev/null 2>&1 || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null
}

mariadb_programs() {
  command -v mariadb-install-db >/dev/null 2>&1 && command -v my_print_defaults >/dev/null 2>&1 && { command -v mariadbd >/dev/null 2>&1 || [ -x /usr/sbin/mariadbd ]; }
}

# A second reader of workbooks, in a virtual environment, which needs ensurepip that Debian ships apart.
openpyxl() {
  if ! compgen -G "$tools/openpyxl-$openpyxl_version/lib/*/site-packages/openpyxl" >/dev/null; then
    echo "setup: installing openpyxl $openpyxl_version" >&2
    python3 -c 'import ensurepip' 2>/dev/null || packages ensurepip python3-venv
    python3 -m venv "$tools/openpyxl-$openpyxl_version"
    "$tools/openpyxl-$openpyxl_version/bin/pip" install -q --disable-pip-version-check "openpyxl==$openpyxl_version"
  fi
  ln -sfn "openpyxl-$openpyxl_version" "$tools/openpyxl"
}

tests() {
  packages gzip gzip zstd zstd unzip unzip python3 python3 git git soffice libreoffice-calc-nogui
  openpyxl
  columnar
  postgres_programs || packages initdb postgresql
  postgres_programs || { echo "setup: PostgreSQL's initdb is still missing; install the package postgresql." >&2; exit 1; }
  # The core packages hold the programs and no service that could start; mariadb-install-db runs one of the client's.
  mariadb_programs || packages mariadb-install-db mariadb-server-core my_print_defaults mariadb-client-core
  mariadb_programs || { echo "setup: one of MariaDB's mariadbd, mariadb-install-db and my_print_defaults is still missing; install the packages mariadb-server-core and mariadb-client-core." >&2; exit 1; }
}

lint() {
  if [ ! -x "$tools/bin/golangci-lint-$golangci_version" ]; then
    echo "setup: building golangci-lint $golangci_version (some minutes, once)" >&2
    GOBIN="$tools/bin" go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$golangci_version"
    mv "$tools/bin/golangci-lint" "$tools/bin/golangci-lint-$golangci_version"
  fi
  ln -sf "golangci-lint-$golangci_version" "$tools/bin/golangci-lint"
  if [ ! -x "$tools/venv-$cfn_lint_version/bin/cfn-lint" ]; then
    echo "setup: installing cfn-lint $cfn_lint_version" >&2
    # A virtual environment needs ensurepip, which Debian ships apart.
    python3 -c 'import ensurepip' 2>/dev/null || packages ensurepip python3-venv
    python3 -m venv "$tools/venv-$cfn_lint_version"
    "$tools/venv-$cfn_lint_version/bin/pip" install -q --disable-pip-version-check "cfn-lint==$cfn_lint_version"
  fi
  ln -sfn "venv-$cfn_lint_version" "$tools/venv"
}

# Two readers of Parquet of other authors.
columnar() {
  local venv="columnar-$duckdb_version-$pyarrow_version"
  if ! compgen -G "$tools/$venv/lib/*/site-packages/pyarrow" >/dev/null; then
    echo "setup: installing duckdb $duckdb_version and pyarrow $pyarrow_version" >&2
    python3 -c 'import ensurepip' 2>/dev/null || packages ensurepip python3-venv
    python3 -m venv "$tools/$venv"
    "$tools/$venv/bin/pip" install -q --disable-pip-version-check "duckdb==$duckdb_version" "pyarrow==$pyarrow_version"
  fi
  ln -sfn "$venv" "$tools/columnar"
}

crosscheck() {
  if [ ! -x "$tools/moto-$moto_version/bin/moto_server" ]; then
    echo "setup: installing moto $moto_version" >&2
    python3 -c 'import ensurepip' 2>/dev/null || packages ensurepip python3-venv
    python3 -m venv "$tools/moto-$moto_version"
    "$tools/moto-$moto_version/bin/pip" install -q --disable-pip-version-check "moto[server,dynamodb,sqs,s3,scheduler]==$moto_version"
  fi
  ln -sfn "moto-$moto_version" "$tools/moto"
}

# A program that can't be had is missing in the benchmark's table; only PostgreSQL is needed.
bench() {
  local pair
  for pair in 'pigz pigz' 'mariadbd mariadb-server-core' 'mariadb-dump mariadb-client' 'mydumper mydumper'; do
    # shellcheck disable=SC2086
    (packages $pair) || echo "setup: no ${pair#* }; the benchmark goes on without it" >&2
  done
  if [ ! -x "$tools/duckdb-$duckdb_version/bin/python" ]; then
    echo "setup: installing duckdb $duckdb_version" >&2
    { { python3 -c 'import ensurepip' 2>/dev/null || packages ensurepip python3-venv; } && python3 -m venv "$tools/duckdb-$duckdb_version" &&
      "$tools/duckdb-$duckdb_version/bin/pip" install -q --disable-pip-version-check "duckdb==$duckdb_version"; } || {
      rm -rf "$tools/duckdb-$duckdb_version"
      echo "setup: no duckdb; the benchmark goes on without it" >&2
      return 0
    }
  fi
  ln -sfn "duckdb-$duckdb_version" "$tools/duckdb"
}

case "${1:-}" in
  tests) tests ;;
  lint) packages python3 python3 git git; lint ;;
  crosscheck) packages python3 python3 curl curl; crosscheck ;;
  bench) tests; bench ;;
  *) echo "usage: infra/setup.sh tests|lint|crosscheck|bench" >&2; exit 2 ;;
esac
