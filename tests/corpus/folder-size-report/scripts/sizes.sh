#!/usr/bin/env bash
set -euo pipefail

folder="${1:-.}"
count="${2:-10}"
echo "Largest below $folder:"
du -k --max-depth=1 "$folder" | sort -rn | head -n "$limit"
