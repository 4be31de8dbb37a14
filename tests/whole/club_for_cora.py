"""``python -m tests.whole.club_for_cora``: gaug with the karate club in the place of Cora."""

from __future__ import annotations

from gaug.cli.main import main
from gaug.data.catalog import readers
from gaug.data.catalog.entries import CATALOG, Entry

if __name__ == "__main__":
    CATALOG["cora"] = Entry(
        "cora", "", "", (), readers.read_karate, "as-is", "stratified", "embedded"
    )
    main()
