#!/usr/bin/env bash
# Make slugs of titles; with -r rename files, with -n only say so.
set -euo pipefail

dry=false rename=false
while getopts "nr" option; do
  case "$option" in
    n) dry=true ;;
    r) rename=true ;;
    *) echo "usage: slug.sh [-n] [-r] [TITLE...]" >&2; exit 2 ;;
  esac
done
shift $((OPTIND - 1))

slug() {
  local name="$1" ending=""
  if [[ "$name" =~ ^(.+)(\.[A-Za-z0-9]{1,5})$ ]]; then
    name="${BASH_REMATCH[1]}" ending="${BASH_REMATCH[2]}"
  fi
  printf '%s%s\n' "$(printf '%s' "$name" | tr '[:upper:]' '[:lower:]' | sed -E 's/[^a-z0-9]+/-/g; s/^-+|-+$//g')" \
    "$(printf '%s' "$ending" | tr '[:upper:]' '[:lower:]')"
}

if [ "$#" -eq 0 ]; then
  while IFS= read -r line; do slug "$line"; done
  exit 0
fi
for title in "$@"; do
  new="$(slug "$title")"
  if $rename; then
    echo "$title -> $new"
    $dry || mv -n -- "$title" "$(dirname -- "$title")/$new"
  else
    echo "$new"
  fi
done
