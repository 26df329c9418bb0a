#!/usr/bin/env bash
set -euo pipefail

usage() { echo "usage: backup.sh -o FOLDER [-x PATTERN]... SOURCE" >&2; exit 2; }

out="" excludes=()
while getopts "o:x:" option; do
  case "$option" in
    o) out="$OPTARG" ;;
    x) excludes+=("--exclude=$OPTARG") ;;
    *) usage ;;
  esac
done
shift $((OPTIND - 1))
[ -n "$out" ] && [ "$#" -eq 1 ] && [ -d "$1" ] || usage

source="${1%/}"
name="$(basename "$source")-$(date +%Y%m%d-%H%M%S)"
mkdir -p "$out"
tar -czf "$out/$name.tar.gz" ${excludes[@]+"${excludes[@]}"} -C "$(dirname "$source")" "$(basename "$source")"
(cd "$out" && sha256sum "$name.tar.gz" > "$name.tar.gz.sha256" && sha256sum -c --quiet "$name.tar.gz.sha256") || exit 3
count="$(tar -tzf "$out/$name.tar.gz" | grep -vc '/$' || true)"
echo "backed up $count files to $out/$name.tar.gz"
