#!/bin/sh
# Tremors in a seismograph recording, by strength.
set -eu
echo "lines recorded: $(wc -l < "$1")"
echo "strongest: $(sort -r "$1" | head -n 1)"
