"""What stands in a daemon's store, whichever it is: as somebody with a shell on it reads or damages it.

Statements must be both databases' SQL; where their tables differ, `by_store` chooses.
"""
import sqlite3

import postgresql
from harness import POSTGRESQL


def by_store(sqlite, postgresql):
    return postgresql if POSTGRESQL else sqlite


def rows(daemon, text):
    """The values as texts; what is true or false as 1 or 0."""
    if POSTGRESQL:
        lines = postgresql.sql(daemon.store(), text).splitlines()
        return [tuple({"t": "1", "f": "0"}.get(v, v) for v in line.split("|")) for line in lines]
    db = sqlite3.connect(daemon.directory / "store" / "postbackd.db")
    try:
        return [tuple(map(str, row)) for row in db.execute(text)]
    finally:
        db.close()


def change(daemon, text):
    """How many rows it has changed."""
    if POSTGRESQL:
        return int(postgresql.sql(daemon.store(), "WITH changed AS (%s RETURNING 1) SELECT count(*) FROM changed" % text))
    db = sqlite3.connect(daemon.directory / "store" / "postbackd.db")
    try:
        changed = db.execute(text).rowcount
        db.commit()
        return changed
    finally:
        db.close()


def lived_until(daemon, clock):
    """The store takes it that this time has passed: what the clock says is believed at once. The daemon is not running,
    or not the node that moves the store's clock."""
    value = str(int(clock.now().timestamp() * 1000))
    changed = change(daemon, by_store("UPDATE meta SET value='%s' WHERE name='retention_clock_ms'",
                                      "UPDATE meta SET value=convert_to('%s','UTF8') WHERE name='retention_clock_ms'")
                     % value)
    assert changed == 1, changed


def everything(daemon):
    """All that is kept, raw, by a name of where it stands."""
    if POSTGRESQL:
        return {"dump": postgresql.dump(daemon.store())}
    # The journal is made of zeros first; searching those would take minutes.
    return {path.name: path.read_bytes().replace(b"\0" * 512, b"")
            for path in (daemon.directory / "store").rglob("*") if path.is_file()}
