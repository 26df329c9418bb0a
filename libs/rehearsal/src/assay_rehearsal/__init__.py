"""The deterministic model that stands in where no LLM is configured, in all its roles."""
