#!/usr/bin/env bash
# Print the commits since a revision (default: the last tag) as Markdown.
set -euo pipefail

git rev-parse --is-inside-work-tree >/dev/null || { echo "not inside a git repository" >&2; exit 3; }

since="${1:-$(git describe --tags --abbrev=0 2>/dev/null || true)}"
if [ -n "$since" ] && git rev-parse -q --verify "$since^{commit}" >/dev/null; then
  range="$since..HEAD"
else
  range="HEAD"
fi
subjects="$(git log --no-merges --format='%s (%h)' "$range")"

section() {
  local title="$1" lines="$2"
  [ -n "$lines" ] || return 0
  printf '## %s\n\n' "$title"
  printf '%s\n' "$lines" | sed -E 's/^(feat|fix)(\([^)]*\))?!?: */- /; t; s/^/- /'
  printf '\n'
}

printf '# Changes (%s)\n\n' "$range"
section "Features" "$(printf '%s\n' "$subjects" | grep -E '^feat(\(|!|:)' || true)"
section "Fixes" "$(printf '%s\n' "$subjects" | grep -E '^fix(\(|!|:)' || true)"
section "Other" "$(printf '%s\n' "$subjects" | grep -vE '^(feat|fix)(\(|!|:)' || true)"
