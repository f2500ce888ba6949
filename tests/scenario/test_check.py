"""`postbackd check`: what a start would meet, said without starting, and nothing made or changed."""
import contextlib
import json
import os
import sqlite3

import pytest

from harness import POSTGRESQL, Account, Daemon
from raw import Authority
from test_cli import WRONG, assert_one_line, run

SERVE = [(arguments, words) for arguments, words in WRONG if arguments[:1] == ["serve"] and len(arguments) > 2]


def check(*arguments, status=0, **variables):
    """Of what was looked at: (verdict, sentence)."""
    result = run("check", *arguments, **variables)
    assert result.returncode == status, result
    found = {}
    for line in result.stdout.decode().splitlines():
        verdict, what, sentence = line[:6].strip(), line[8:21].strip(), line[23:]
        assert verdict in ("ok", "failed") and what and sentence, line
        found[what] = verdict, sentence
    assert any(verdict == "failed" for verdict, _ in found.values()) == (status == 1), found
    return found


def everything_in(directory):
    """But for SQLite's index of its log, which every reader may make anew."""
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in directory.rglob("*")
            if not path.name.endswith("-shm")}


@pytest.mark.parametrize("arguments,words", SERVE, ids=[" ".join(a)[:60] for a, _ in SERVE])
def test_a_setting_that_serve_refuses_is_refused_in_the_same_words(arguments, words, tmp_path):
    store = [] if "--store" in arguments else ["--store", "sqlite:%s" % (tmp_path / "store")]
    assert_one_line(run("check", *store, *arguments[1:]), 2, *words)


def test_of_a_first_start_all_is_good_and_nothing_is_made(tmp_path):
    found = check("--listen", "127.0.0.1:0", "--store", "sqlite:%s" % (tmp_path / "store"))
    assert list(found) == ["settings", "listen", "tls-cert", "ca-file", "store", "master key"]
    assert "not there yet" in found["store"][1] and "not there yet" in found["master key"][1]
    assert list(tmp_path.iterdir()) == []


def test_beside_a_running_server_and_after_it(tmp_path):
    d = Daemon(tmp_path).start()
    store = "sqlite:%s" % (d.directory / "store")
    found = check("--listen", "127.0.0.1:%d" % d.port, "--store", store)
    assert "in use" in found["listen"][1]
    assert d.api().get("/api/v1/system").status == 200
    assert d.stop() == 0
    before = everything_in(d.directory / "store")
    assert check("--listen", "127.0.0.1:%d" % d.port, "--store", store)["listen"][1].endswith("is free")
    assert everything_in(d.directory / "store") == before


def test_each_thing_that_is_wrong_is_said_once(tmp_path):
    authority = Authority(tmp_path)
    expired, key = authority.sign("old", days=-1)
    other_key = authority.sign("other")[1]
    nowhere = ("--store", "sqlite:/nonexistent/store", "--ca-file", "/nonexistent/ca.pem", "--listen", "192.0.2.1:80")
    found = check(*nowhere, "--tls-cert", expired, "--tls-key", key, status=1)
    failed = {what: sentence for what, (verdict, sentence) in found.items() if verdict == "failed"}
    assert sorted(failed) == ["ca-file", "listen", "store", "tls-cert"]
    assert "expired on 20" in failed["tls-cert"] and "/nonexistent/ca.pem" in failed["ca-file"]
    assert "192.0.2.1:80" in failed["listen"] and "No such file" in failed["store"]
    found = check(*nowhere, "--tls-cert", expired, "--tls-key", other_key, status=1)
    assert "mismatch" in found["tls-cert"][1]


def test_a_certificate_that_lasts_says_until_when(tmp_path):
    certificate, key = Authority(tmp_path).sign("good")
    found = check("--listen", "127.0.0.1:0", "--store", "sqlite:%s" % (tmp_path / "store"),
                  "--tls-cert", certificate, "--tls-key", key)
    assert "expires on 20" in found["tls-cert"][1]


@pytest.mark.parametrize("option, lines, words", [
    ("--intake", "security.protocol=ssl\nssl.ca.location=/nope", "ssl.ca.location failed"),
    ("--intake", "security.protocol=SASL_SSL\nsasl.mechanism=FOO", "Unsupported SASL mechanism"),
    ("--intake", "session.timeout.ms=600000\nmax.poll.interval.ms=1000", "must be >= `session.timeout.ms`"),
    ("--rewards-feed", "transaction.timeout.ms=1000", "transaction.timeout.ms"),
    ("--intake", "client.id=x", ""),
    ("--rewards-feed", "client.id=x", "")])
def test_what_librdkafka_takes_only_together(option, lines, words, tmp_path):
    file = tmp_path / "kafka.properties"
    file.write_text("bootstrap.servers=127.0.0.1:1\n%s\n" % lines)
    found = check("--listen", "127.0.0.1:0", "--store", "sqlite:%s" % (tmp_path / "store"), option, "kafka:t",
                  "--kafka-config", str(file), status=1 if words else 0)
    assert words in found[option[2:]][1]


def test_a_store_that_cannot_be_used(tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    (store / "master.key").write_text("no key")
    (store / "postbackd.db").write_text("no database, but long enough to look like one of sixteen bytes")
    found = check("--listen", "127.0.0.1:0", "--store", "sqlite:%s" % store, status=1)
    assert found["store"] == ("failed", "%s/postbackd.db is not an SQLite database: put back the store's own" % store)
    assert found["master key"][0] == "failed" and "damaged" in found["master key"][1]
    found = check("--listen", "127.0.0.1:0", "--store", "sqlite:%s" % store, status=1, POSTBACKD_MASTER_KEY="ab" * 32)
    assert found["master key"] == ("ok", "POSTBACKD_MASTER_KEY")


def test_a_store_behind_a_link_that_leads_nowhere(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for command in ("check", "serve"):
        assert_one_line(run(command, "--listen", "127.0.0.1:0", "--store", "sqlite:%s" % (tmp_path / "link")), 2,
                        "store: sqlite:%s" % (tmp_path / "link"), "a link to what does not exist")


@pytest.mark.skipif(POSTGRESQL != "", reason="files of SQLite's")
def test_a_part_of_a_store_is_missing(tmp_path):
    """A restored backup without its key, and a journal without its database: the start refuses both."""
    d = Daemon(tmp_path).start()
    Account(d)
    d.stop()
    store = tmp_path / "store"
    settings = ("--listen", "127.0.0.1:0", "--store", "sqlite:%s" % store)
    (store / "master.key").rename(tmp_path / "elsewhere")
    missing = ("POSTBACKD_MASTER_KEY is not set and %s/master.key does not exist: this store was made with a key" % store)
    found = check(*settings, status=1)
    assert found["store"][0] == "ok" and found["master key"][1] == missing
    assert check(*settings, POSTBACKD_MASTER_KEY="ab" * 32)["master key"][0] == "ok"
    refused = run("serve", *settings)
    assert_one_line(refused, 1, missing, "the master key is another one")  # without a warning about the key's file
    assert check(*settings, status=1)["master key"] == found["master key"]  # nor is one made by that start
    (tmp_path / "elsewhere").rename(store / "master.key")
    for file in store.glob("postbackd.db*"):
        file.unlink()
    found = check(*settings, status=1)
    assert found["master key"][0] == "ok" and "a journal and no database" in found["store"][1]


@pytest.mark.skipif(POSTGRESQL != "", reason="files of SQLite's")
def test_what_a_start_would_not_take_for_its_own_is_not_empty(tmp_path):
    """A copy that was killed, a database of others, one that was emptied: `check` and the start say the same."""
    store = tmp_path / "store"
    settings = ("--listen", "127.0.0.1:0", "--store", "sqlite:%s" % store)

    def both_refuse(words):
        found = check(*settings, status=1)["store"]
        assert found[0] == "failed" and words in found[1], found
        assert_one_line(run("serve", *settings, "--log-level", "error"), 1, words)
    store.mkdir()
    (store / "postbackd.db.part").write_bytes(b"SQLite format 3")
    both_refuse("run the same `postbackd copy` again")
    (store / "postbackd.db.part").unlink()
    with contextlib.closing(sqlite3.connect(store / "postbackd.db")) as other:
        other.execute("CREATE TABLE shop(id)")
    both_refuse("no postbackd has made it")
    (store / "postbackd.db").unlink()
    d = Daemon(tmp_path).start()
    Account(d)
    d.stop()
    (store / "postbackd.db").write_bytes(b"")
    both_refuse("no database beside it")


@pytest.mark.skipif(POSTGRESQL != "", reason="files of SQLite's")
@pytest.mark.parametrize("left", [100, 4096, 1 << 20])
def test_a_journal_file_that_was_cut(tmp_path, left):
    """The start and `check` say which file it is, what is wrong with it and the way out; with the file all is there."""
    d = Daemon(tmp_path).start()
    a = Account(d)
    d.api().events([a.event("kept")])
    settings = ("--listen", "127.0.0.1:0", "--store", "sqlite:%s" % (tmp_path / "store"))
    assert check(*settings)["store"][0] == "ok"  # beside the daemon
    d.kill()
    assert check(*settings)["store"][0] == "ok"
    segment = min((tmp_path / "store" / "journal").iterdir())
    whole = segment.read_bytes()
    os.truncate(segment, left)
    says = "was cut: %s is shorter than it was made" % segment
    found = check(*settings, status=1)
    assert found["store"][0] == "failed" and says in found["store"][1], found
    assert "put back the whole file from a copy" in found["store"][1] and "restore a backup" in found["store"][1]
    assert_one_line(run("serve", *settings, "--log-level", "error"), 1, found["store"][1])
    assert segment.stat().st_size == left
    segment.write_bytes(whole)
    assert d.start().api().callback("kept", a.partner_id)["State"] == "skipped"  # there is no URL
    assert d.stop() == 0


def test_a_database_that_does_not_answer(tmp_path):
    found = check("--listen", "127.0.0.1:0", "--store", "postgresql://me:hunter2@127.0.0.1:1/x", status=1,
                  POSTBACKD_MASTER_KEY="ab" * 32)
    assert "refused" in found["store"][1] and "hunter2" not in str(found)


def test_a_store_of_a_newer_program_is_said_by_check_and_migrate(tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    with contextlib.closing(sqlite3.connect(store / "postbackd.db")) as database:
        database.execute("PRAGMA user_version=99")
    found = check("--listen", "127.0.0.1:0", "--store", "sqlite:%s" % store, status=1)
    assert "schema version 99" in found["store"][1] and "newer program" in found["store"][1]
    assert_one_line(run("migrate", "--store", "sqlite:%s" % store), 1, "schema version 99", "newer program")


def test_the_file_of_identity_providers_is_read(tmp_path):
    file, store = tmp_path / "sign-in.json", "sqlite:%s" % (tmp_path / "store")
    secret = tmp_path / "secret"
    secret.write_bytes(b"s3cret\0\n")
    good = {"Name": "Staff", "Issuer": "https://id.example", "ClientId": "c", "Groups": {"staff": "admin"}}
    for providers, status, words in (([good], 0, "1 provider"), ([good, good], 1, "provider 2: Issuer: another provider"),
                                     ([{**good, "ClientSecretFile": str(secret)}], 1, "the file has a NUL byte"),
                                     ([{**good, "Groups": {"staff": "owner"}}], 1, "must be admin or support")):
        file.write_text(json.dumps({"Providers": providers}))
        arguments = ("--listen", "127.0.0.1:0", "--store", store, "--sign-in-file", str(file))
        assert words in check(*arguments, status=status)["sign-in-file"][1]
    assert words.encode() in run("serve", *arguments).stderr
    file.unlink()
    assert check(*arguments, status=1)["sign-in-file"][1] == "%s: No such file or directory" % file


def test_sqlite_has_no_clusters(tmp_path):
    result = run("clusters", "--store", "sqlite:%s" % tmp_path)
    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout.decode() == "sqlite:%s is one file on one machine: there are no clusters.\n" % tmp_path
    assert_one_line(run("clusters", "--store", "sqlite:%s" % tmp_path, "--store-cluster", "postgresql://u:secret@h/x"),
                    2, "beside a --store postgresql://")
