"""Which columns of the tables mean what, where the user says so."""

from __future__ import annotations

from collections.abc import Sequence

from gaug.data.tables.table import Table, shown
from gaug.errors import ConfigError, DataError, unknown_name

#: What a column may be chosen as.
ROLES = ("source", "target", "weight", "id", "label", "drop")


class ColumnChoice:
    """Columns by role; a name or, from 1, a number stands for a column.

    Args:
        assignments: Texts ``role=column``; the role ``drop`` may come several times.

    >>> ColumnChoice(["label=topic"]).names("label", "id")
    ['topic']
    """

    def __init__(self, assignments: Sequence[str] = ()) -> None:
        self._columns: dict[str, list[str]] = {role: [] for role in ROLES}
        self._unused: set[tuple[str, str]] = set()
        for assignment in assignments:
            role, equals, column = (part.strip() for part in assignment.partition("="))
            if not equals or not column:
                raise ConfigError(f"A column must be given as role=column, got {assignment!r}.")
            if role not in ROLES:
                raise unknown_name("role of a column", role, ROLES)
            if role != "drop" and self._columns[role]:
                raise ConfigError(f"There can be one column for {role}, got two.")
            self._columns[role].append(column)
            self._unused.add((role, column))

    def names(self, *roles: str) -> list[str]:
        """What the user gave for some roles: a first row with one of them in it is a header."""
        return [column for role in roles for column in self._columns[role]]

    def find(self, table: Table, role: str) -> int | None:
        """The column of a role in a table that must have it; None if the user named none."""
        for column in self._columns[role]:
            self._unused.discard((role, column))
            return table.find_column(column)
        return None

    def find_all_present(self, table: Table, role: str) -> list[int]:
        """The columns of a role that a table has, for roles that several tables may have."""
        found = []
        for column in self._columns[role]:
            try:
                found.append(table.find_column(column))
            except DataError:
                continue  # another table has it, or `check_all_used` says that none has
            self._unused.discard((role, column))
        return found

    def id_column(self, table: Table) -> int:
        """The column of node ids, by default the first."""
        return next(iter(self.find_all_present(table, "id")), 0)

    def check_all_used(self) -> None:
        """Raise if a column was named that no table has."""
        for role, column in sorted(self._unused):
            raise ConfigError(f"No file has the column {shown(column)} to take as {role}.")
