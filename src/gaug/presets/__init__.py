"""Settings that a search found, one TOML file per method."""
