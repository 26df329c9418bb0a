"""Everything a validation needs, on one machine: the bus, the database and the five services."""
