#!/bin/bash
# Sizes and names of the files in a folder, and their total.
set -euo pipefail
total=0
for file in "$1"/*; do
  size=$(wc -c < "$file")
  total=$((total + size))
  echo "$size ${file##*/}"
done
echo "$total in total"
