"""The system of record and the conductor: hears every fact, decides what comes next, scores."""
