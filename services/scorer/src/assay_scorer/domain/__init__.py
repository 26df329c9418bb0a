"""Rules only: no bus, no database, no clock."""
