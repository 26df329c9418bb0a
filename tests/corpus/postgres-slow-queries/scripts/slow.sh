#!/usr/bin/env bash
set -euo pipefail
url="${1:?give the connection string}"
psql "$url" --no-psqlrc --pset=pager=off -c "
  SELECT round(mean_exec_time::numeric, 1) AS ms, calls, left(query, 80) AS query
  FROM pg_stat_statements ORDER BY mean_exec_time DESC LIMIT ${2:-10}"
