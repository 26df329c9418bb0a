"""Tally bird sightings by species."""

import sys

import plumage_tables

plumage_tables.read(sys.argv[1]).count_by("species").write(sys.argv[3])
