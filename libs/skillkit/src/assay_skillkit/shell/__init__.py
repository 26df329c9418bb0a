"""Shell commands, read and never run: what skills document and what agents did."""
