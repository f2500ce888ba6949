"""The tables stay fit to be spread over machines by account, as docs/decisions/beyond-one-database.md
says of three engines: this holds them to those engines' published limits."""
import re

import pytest

from harness import ROOT, Account
from postgresql import sql

PAGE = (ROOT / "docs/decisions/beyond-one-database.md").read_text()
SOURCES = sorted((ROOT / "src/store/postgresql").glob("*.c"))


def excused(heading):
    """The names in the first column of the table under that heading of the page."""
    part = PAGE.split("### %s\n" % heading)[1].split("\n#")[0]
    return set(re.findall(r"^\| `(\w+)`", part, re.M))


WHOLE = excused("Tables of the whole installation")
LOCAL_INDEXES = excused("Indexes that do not begin with the account")
FILES = excused("Statements that some engines refuse")


@pytest.fixture
def tables(database, database_daemon, receiver):
    """A database as a daemon makes it, with an account's partitions; asks its catalogue."""
    account = Account(database_daemon.start(), receiver.url)
    database_daemon.api().events([account.event("e")])
    receiver.wait_for("e")
    return lambda text: [line.split("|") for line in sql(database, text).splitlines()]


def roots(tables):
    """Tables that are no partitions of others."""
    return {row[0] for row in tables("SELECT relname FROM pg_class WHERE relnamespace='public'::regnamespace"
                                     " AND relkind IN('r','p') AND NOT relispartition")}


def test_every_table_is_an_accounts_or_excused(tables):
    with_account = {row[0] for row in tables("SELECT attrelid::regclass FROM pg_attribute WHERE attname='account_no'"
                                             " AND attnum>0 AND atttypid='int4'::regtype AND attnotnull")}
    found = roots(tables)
    assert len(found) > 10 and "event" in found
    assert found - with_account - WHOLE == set(), "say in beyond-one-database.md why these have no account"
    assert WHOLE - found == set(), "no longer there"


def test_every_key_begins_with_the_account(tables):
    """Citus: a unique index must have the distribution column. YugabyteDB and CockroachDB: the first
    column decides where a row is, and one that only grows is a hot spot."""
    first = tables(
        "SELECT i.indrelid::regclass, i.indexrelid::regclass, coalesce(a.attname,'an expression') FROM pg_index i"
        " JOIN pg_class c ON c.oid=i.indrelid LEFT JOIN pg_attribute a ON a.attrelid=i.indrelid AND a.attnum=i.indkey[0]"
        " WHERE c.relnamespace='public'::regnamespace AND NOT c.relispartition")
    wrong = {index for table, index, column in first if table not in WHOLE and column != "account_no"}
    assert len(first) > 10
    assert wrong == LOCAL_INDEXES


def test_nothing_that_three_engines_do_not_know(tables):
    """No sequences and identities (hot spots, and numbers with gaps), no foreign keys, triggers, rules,
    exclusions, views, functions: each of the three refuses some of them, or pays dearly."""
    assert tables("SELECT relname FROM pg_class WHERE relnamespace='public'::regnamespace AND relkind NOT IN('r','p','i','I','t')") == []
    assert tables("SELECT attrelid::regclass, attname FROM pg_attribute a JOIN pg_class c ON c.oid=attrelid"
                  " WHERE relnamespace='public'::regnamespace AND (attidentity<>'' OR attgenerated<>'')") == []
    assert tables("SELECT conname FROM pg_constraint WHERE connamespace='public'::regnamespace AND contype NOT IN('p','u','n','c')") == []
    assert tables("SELECT tgname FROM pg_trigger WHERE NOT tgisinternal") == []
    assert tables("SELECT rulename FROM pg_rules WHERE schemaname='public'") == []
    assert tables("SELECT proname FROM pg_proc WHERE pronamespace='public'::regnamespace") == []
    assert tables("SELECT typname FROM pg_type WHERE typnamespace='public'::regnamespace AND typtype IN('e','d','r')") == []


def test_partitions_have_no_partitions(tables):
    """Citus spreads partitioned tables, but only of one level."""
    assert tables("SELECT relname FROM pg_class WHERE relkind='p' AND relispartition") == []
    assert len(tables("SELECT relname FROM pg_class WHERE relkind='p'")) >= 3


# Words of SQL that one of them does not know, or knows only within a shard.
UNKNOWN = ["LISTEN ", "NOTIFY ", "LOCK TABLE", "pg_advisory", "nextval", "WITH RECURSIVE", "TABLESAMPLE", "GROUPING SETS",
           "WITH HOLD", "PREPARE TRANSACTION", "SET account_no", "CREATE TEMP", "ctid", "xmin"]


def test_no_table_is_unlogged():
    """A server that is killed behind the rollback of such a table cannot start again: see disk_room.c."""
    assert [path.name for path in SOURCES if "UNLOGGED" in path.read_text()] == []


def test_no_statement_says_what_they_do_not_know():
    assert len(SOURCES) > 10
    texts = {path.stem: "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', path.read_text())) for path in SOURCES}
    assert any("INSERT INTO event" in text for text in texts.values())
    found = {(name, word) for name, text in texts.items() for word in UNKNOWN if word.lower() in text.lower()}
    assert {(name, word) for name, word in found if name not in FILES} == set()
    assert {name for name, _ in found} == FILES  # no excuse that is not needed
