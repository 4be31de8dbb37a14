"""Tables of users, as text or Parquet."""
