"""Records as parquet: one table of columns, its description among the metadata."""

from __future__ import annotations

from pathlib import Path

from ..errors import RecordError
from .conversion import name_and_unit
from .description import MARK, describe, gather, measurement, refuse_twice, restore, within_limit
from .grid import TimeAxis, floats
from .record import Record, extra


def write(record: Record, path: Path) -> None:
    pyarrow, parquet = extra("pyarrow", "parquet"), extra("pyarrow.parquet", "parquet")
    table = pyarrow.table({"t": record.t, **record.columns()})
    parquet.write_table(table.replace_schema_metadata({MARK: describe(record, str)[0]}), path)


def read(path: Path, max_bytes: int, axis: TimeAxis) -> Record:
    pyarrow, parquet = extra("pyarrow", "parquet"), extra("pyarrow.parquet", "parquet")
    with parquet.ParquetFile(path) as file:
        schema = file.schema_arrow
        refuse_twice("column", schema.names)
        for field in schema:
            kinds = pyarrow.types
            if not (kinds.is_floating(field.type) or kinds.is_integer(field.type) or kinds.is_boolean(field.type)):
                raise RecordError(f"column '{field.name}' holds {field.type}; real numbers are wanted.")
        within_limit(8 * file.metadata.num_rows * len(schema.names), max_bytes)
        table = file.read()
    columns = {name: floats(table.column(name).to_numpy()).copy() for name in schema.names}  # Arrow's memory is read-only
    description = (schema.metadata or {}).get(MARK.encode(), b"").decode()
    if description:
        return restore(description, gather(description, columns, with_units=False))
    units = {field.name: (field.metadata or {}).get(b"unit", b"").decode() for field in schema}
    return measurement(path, columns, axis, {name_and_unit(name)[0]: unit for name, unit in units.items() if unit})
