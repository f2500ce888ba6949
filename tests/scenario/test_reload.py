"""SIGHUP: what a running server takes anew, and what it says of the rest. A reload that cannot be
taken whole changes nothing."""
import json
import signal

from harness import Account, eventually


def reload(daemon):
    """What the log says of it."""
    begin = len(daemon.log_text().encode())
    daemon.process.send_signal(signal.SIGHUP)

    def done():
        whole = daemon.log_text(begin).rpartition("\n")[0]
        said = [json.loads(line) for line in whole.splitlines() if line.startswith("{")]
        return said if any(e["event"] in ("reloaded", "reload_failed") for e in said) else None
    return eventually(done, what="the end of the reload")


def named(said, event):
    return {e["setting"] for e in said if e["event"] == event}


def test_settings_that_a_running_server_takes_and_those_it_does_not(own_daemon, tmp_path):
    file = tmp_path / "conf"
    file.write_text("reads-per-minute = 500\nloops = 1\n")
    own_daemon.options = ["--config", str(file), "--access-log-probes"]
    d = own_daemon.start()
    account = Account(d, "http://127.0.0.1:1/")
    path = "/api/v1/apps/" + account.app_id
    assert d.api().get(path).headers["RateLimit-Limit"] == "500"
    assert (named(reload(d), "setting_reloaded"), named(reload(d), "setting_needs_restart")) == (set(), set())

    file.write_text("reads-per-minute = 1\nloops = 2\naccess-log = %s\ntrusted-proxy = 127.0.0.1/32\n"
                    "smtp-url = smtps://mail.example\nmail-from = a@b.example\n" % (tmp_path / "access.log"))
    said = reload(d)
    assert named(said, "setting_reloaded") == {"reads-per-minute", "access-log", "trusted-proxy"}
    assert named(said, "setting_needs_restart") == {"loops", "smtp-url", "mail-from"}
    assert [(e["settings_reloaded"], e["need_restart"]) for e in said if e["event"] == "reloaded"] == [(3, 3)]

    def limited():
        answer = d.api().get(path)
        return answer if answer.status == 429 else None
    # Two readings of one minute: more than one minute may pass between two of a busy machine.
    answer = eventually(limited)
    assert answer.headers["RateLimit-Limit"] == "1"
    assert answer.headers["RateLimit-Remaining"] == "0"
    d.api().get("/readyz", key=None, headers={"X-Forwarded-For": "203.0.113.9", "X-Request-Id": "after-1"})
    line = eventually(lambda: [e for e in (tmp_path / "access.log").read_text().splitlines() if "after-1" in e])
    assert json.loads(line[0])["client"] == "203.0.113.9"

    # Again: what was taken is not news, what needs a restart still does.
    said = reload(d)
    assert named(said, "setting_reloaded") == set()
    assert named(said, "setting_needs_restart") == {"loops", "smtp-url", "mail-from"}
    file.write_text("log-level = warning\nloops = 2\n")
    begin = len(d.log_text().encode())
    d.process.send_signal(signal.SIGHUP)
    eventually(lambda: '"setting":"loops"' in d.log_text(begin))
    eventually(lambda: d.api().get(path).headers["RateLimit-Limit"] == "600")
    assert "setting_reloaded" not in d.log_text(begin)  # warnings and errors only from here on
    d.process.send_signal(signal.SIGHUP)
    assert d.stop() == 0


def test_a_reload_that_cannot_be_taken_changes_nothing(own_daemon, tmp_path):
    file = tmp_path / "conf"
    file.write_text("reads-per-minute = 500\n")
    own_daemon.options = ["--config", str(file)]
    d = own_daemon.start()
    path = "/api/v1/apps/" + Account(d, "http://127.0.0.1:1/").app_id
    for text, why in (("reads-per-minute = 7\nno-such = 1\n", "no-such"),
                      ("reads-per-minute = 7\nlog-level = loud\n", "log-level"),
                      ("reads-per-minute = 7\naccess-log = %s/no/such\n" % tmp_path, "access-log"),
                      ("reads-per-minute = 7\ntls-cert = c.pem\ntls-key = k.pem\n", "tls-cert"),
                      (None, "conf")):
        if text is None:
            file.unlink()
        else:
            file.write_text(text)
        said = reload(d)
        failed = [e for e in said if e["event"] == "reload_failed"]
        assert len(failed) == 1 and why in failed[0]["reason"], said
        assert d.api().get(path).headers["RateLimit-Limit"] == "500"
    file.write_text("reads-per-minute = 400\n")
    assert named(reload(d), "setting_reloaded") == {"reads-per-minute"}
    assert d.api().get(path).headers["RateLimit-Limit"] == "400"


def test_keys_of_the_environment_outlive_a_reload(own_daemon):
    """The daemon has overwritten them in its environment by then."""
    own_daemon.env["POSTBACKD_MASTER_KEY"] = "11" * 32
    d = own_daemon.start()
    said = reload(d)
    assert (named(said, "setting_reloaded"), named(said, "setting_needs_restart")) == (set(), set())
    assert d.api().get("/api/v1/partners").status == 200
