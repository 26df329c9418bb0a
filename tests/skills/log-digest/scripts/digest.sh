#!/bin/sh
# Entries of each level in a log, then the errors themselves.
set -eu
for level in INFO WARNING ERROR; do
  echo "$level: $(grep -c " $level " "$1" || true)"
done
grep " ERROR " "$1" || true
