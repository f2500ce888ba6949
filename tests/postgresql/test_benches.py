"""Some benchmarks write the store's own tables: a change of theirs must not leave them behind. Speed is
no matter here."""
import json
import subprocess
import sys
from pathlib import Path

from harness import BINARY, ROOT
from postgresql import sql

LOOP = Path(BINARY).parent / "bench" / "bench_ingest_postgresql"


def test_the_bare_loop_writes_what_the_store_writes(database):
    for _ in range(2):  # on an empty database, and going on where it was
        out = subprocess.run([LOOP, database, "600", "256"], capture_output=True, text=True, check=True).stdout
        assert json.loads(out)["events"] == 600
    for table in ("event", "body", "event_key", "waiting"):
        assert sql(database, "SELECT count(*) FROM " + table) == "1200", table
    assert sql(database, "SELECT sum(last_event_no) FROM account") == "1200"
    assert sql(database, "SELECT sum(pending) FROM total") == "1200"
    assert sql(database, "SELECT state,sum(count) FROM book GROUP BY 1 ORDER BY 1").splitlines() == ["0|1200", "1|1200"]
    same = "SELECT (SELECT sum(revenue_micros) FROM event)=(SELECT sum(live_survey_micros) FROM report)"
    assert sql(database, same) == "t"


def test_a_database_that_was_filled_moves_and_back_with_everything():
    """bench/move.py with 20,000 callbacks: its books balance, and nothing is lost or comes twice."""
    done = subprocess.run([sys.executable, ROOT / "bench" / "move.py", "0.02", "3", "100"], capture_output=True,
                          text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    rows = [[cell.strip() for cell in line.split("|")] for line in done.stdout.splitlines()]
    found = {cells[1]: cells[2] for cells in rows if len(cells) > 2}
    acknowledged, lost, twice = found["acknowledged; lost; came twice"].split("; ")
    assert int(acknowledged) > 500 and (lost, twice) == ("0", "0"), done.stdout
    assert found["both databases have the same rows"] == "yes", done.stdout
    assert found["books that are wrong: as nodes say; in all"] == "0; 0", done.stdout
