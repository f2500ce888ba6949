"""The yardstick of the ingest benchmark writes the store's own tables: a change of theirs must not
leave it behind. Speed is no matter here."""
import json
import subprocess
from pathlib import Path

from harness import BINARY
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
