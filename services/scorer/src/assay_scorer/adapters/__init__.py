"""Everything of the scorer that does I/O."""
