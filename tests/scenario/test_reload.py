"""SIGHUP: what a running server takes anew, and what it says of the rest. A reload that cannot be
taken whole changes nothing."""
import json
import os
import signal
import ssl
import subprocess
import threading

from harness import BINARY, POSTGRESQL, Account, Receiver, eventually
from inside import lived_until, rows
from raw import Authority, RawServer, answer
from shim import Clock, shimmed
from smtp import MailServer


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
    own_daemon.options, own_daemon.loops = ["--config", str(file), "--access-log-probes"], None
    d = own_daemon.start()
    account = Account(d, "http://127.0.0.1:1/")
    path = "/api/v1/apps/" + account.app_id
    assert d.api().get(path).headers["RateLimit-Limit"] == "500"
    assert (named(reload(d), "setting_reloaded"), named(reload(d), "setting_needs_restart")) == (set(), set())

    file.write_text("reads-per-minute = 1\nloops = 2\naccess-log = %s\ntrusted-proxy = 127.0.0.1/32\n"
                    "smtp-url = smtps://mail.example\nmail-from = a@b.example\n" % (tmp_path / "access.log"))
    said = reload(d)
    assert named(said, "setting_reloaded") == {"reads-per-minute", "access-log", "trusted-proxy"}
    assert named(said, "setting_needs_restart") == {"loops", "smtp-url", "mail-from"}  # e-mail begins with a start
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
    file, junk = tmp_path / "conf", tmp_path / "junk"
    file.write_text("reads-per-minute = 500\n")
    junk.write_text("junk\n")
    own_daemon.options, own_daemon.schedule = ["--config", str(file)], None
    d = own_daemon.start()
    path = "/api/v1/apps/" + Account(d, "http://127.0.0.1:1/").app_id
    for text, why in (("reads-per-minute = 7\nno-such = 1\n", "no-such"),
                      ("reads-per-minute = 7\nlog-level = loud\n", "log-level"),
                      ("reads-per-minute = 7\naccess-log = %s/no/such\n" % tmp_path, "access-log"),
                      ("reads-per-minute = 7\ntls-cert = c.pem\ntls-key = k.pem\n", "tls-cert"),
                      ("reads-per-minute = 7\nca-file = %s/ca.pem\n" % tmp_path,
                       "ca-file: %s/ca.pem: No such file or directory" % tmp_path),
                      ("reads-per-minute = 7\nca-file = %s\n" % junk, "ca-file: %s: no certificate" % junk),
                      ("reads-per-minute = 7\nsign-in-file = %s\n" % junk, "sign-in-file: %s: " % junk),
                      ("reads-per-minute = 7\nsign-in-file = %s/s\n" % tmp_path,
                       "sign-in-file: %s/s: No such file or directory" % tmp_path),
                      ("reads-per-minute = 7\nretry-schedule = soon\n", "retry-schedule"),
                      ("reads-per-minute = 7\ndeny-destination = here\n", "deny-destination"),
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


def test_a_pipe_in_place_of_a_file_holds_nothing_up(own_daemon, tmp_path):
    """Its end would never come."""
    pipe, secret, sign_in = tmp_path / "pipe", tmp_path / "secret", tmp_path / "sign-in.json"
    os.mkfifo(pipe)
    secret.write_text("s\n")
    certificate, key = Authority(tmp_path).sign("listener")

    def write_sign_in(secret_file):
        sign_in.write_text(json.dumps({"Providers": [{
            "Name": "N", "Issuer": "http://127.0.0.1:9", "ClientId": "x", "ClientSecretFile": str(secret_file),
            "Groups": {"a": "admin"}}]}))
    write_sign_in(secret)
    good = {"tls-cert": certificate, "tls-key": key, "ca-file": certificate, "sign-in-file": sign_in}
    file = tmp_path / "conf"

    def write(**changed):
        settings = dict(good, **{name.replace("_", "-"): value for name, value in changed.items()})
        file.write_text("".join("%s = %s\n" % each for each in settings.items()))
    write()
    d = own_daemon
    d.options, d.schedule, d.allow = ["--config", str(file)], None, ()
    d.start(wait_ready=False)

    def refused():
        said = [e["reason"] for e in reload(d) if e["event"] == "reload_failed"]
        checked = subprocess.run([BINARY, "check", "--config", str(file), "--store", d.store()], text=True,
                                 capture_output=True, timeout=60)
        sentence = "%s: it is a named pipe; it must be a regular file" % pipe
        assert len(said) == 1 and sentence in said[0] and sentence in checked.stdout + checked.stderr, (said, checked)
        assert checked.returncode != 0
        return said[0]
    for name in good:
        write(**{name.replace("-", "_"): pipe})
        assert refused().startswith(name + ": ")
    write()
    write_sign_in(pipe)
    assert "ClientSecretFile" in refused()
    write_sign_in(secret)
    assert any(e["event"] == "reloaded" for e in reload(d))
    file.unlink()
    os.mkfifo(file)
    assert any(e["event"] == "reload_failed" and "conf: it is a named pipe" in e["reason"] for e in reload(d))
    assert d.stop() == 0


def test_other_signals_of_log_rotation_do_nothing(own_daemon):
    own_daemon.start()
    for other in (signal.SIGUSR1, signal.SIGUSR2):
        own_daemon.process.send_signal(other)
    assert reload(own_daemon)[-1]["event"] == "reloaded"
    assert own_daemon.api().get("/readyz").status == 200


def test_keys_of_the_environment_outlive_a_reload(own_daemon):
    """The daemon has overwritten them in its environment by then."""
    own_daemon.env["POSTBACKD_MASTER_KEY"] = "11" * 32
    d = own_daemon.start()
    said = reload(d)
    assert (named(said, "setting_reloaded"), named(said, "setting_needs_restart")) == (set(), set())
    assert d.api().get("/api/v1/partners").status == 200


class Configured:
    """A daemon whose settings are in a file."""

    def __init__(self, daemon, tmp_path, **settings):
        self.file = tmp_path / "conf"
        self.daemon = daemon
        daemon.schedule, daemon.allow = None, ()
        daemon.options = ["--config", str(self.file)]
        self.write(settings)
        daemon.start()

    def write(self, settings):
        new = self.file.with_suffix(".new")  # a file that is half written is read as it is
        new.write_text("".join("%s = %s\n" % (name.replace("_", "-"), value)
                                     for name, values in settings.items()
                                     for value in ([values] if isinstance(values, str) else values)))
        new.replace(self.file)

    def take(self, *names, **settings):
        """Reloads these settings, of which those are new."""
        self.write(settings)
        said = reload(self.daemon)
        assert named(said, "setting_reloaded") == {name.replace("_", "-") for name in names}, said
        assert named(said, "setting_needs_restart") == set(), said

    def attempt(self, account, event_id):
        """The first one of a new event."""
        self.daemon.api().events(account.event(event_id))
        return eventually(lambda: self.daemon.api().callback(event_id, account.partner_id)["Attempts"])[0]


def test_destinations_are_reloaded(own_daemon, tmp_path):
    receiver = Receiver()
    c = Configured(own_daemon, tmp_path, allow_destination="127.0.0.0/8")
    account = Account(own_daemon, receiver.url)
    assert c.attempt(account, "before")["Status"] == 200
    # Also of a host that a connection is open to.
    c.take("deny_destination", allow_destination="127.0.0.0/8", deny_destination="127.0.0.1/32")
    denied = c.attempt(account, "denied")
    assert denied["Class"] == "destination_refused" and "operator" in denied["Detail"], denied

    def set_url():
        return own_daemon.api().patch("/api/v1/apps/" + account.app_id,
                                      {"OfferCallbackUrl": receiver.url + "/other"}).status
    eventually(lambda: set_url() == 400)  # the thread of changes has it soon
    c.take("deny_destination", allow_destination="127.0.0.0/8")
    assert c.attempt(account, "again")["Status"] == 200
    eventually(lambda: set_url() == 200)
    receiver.close()


def test_the_retry_schedule_is_reloaded(own_daemon, tmp_path):
    receiver = Receiver(lambda request: 503)
    c = Configured(own_daemon, tmp_path, allow_destination="127.0.0.0/8", retry_schedule="30d")
    account = Account(own_daemon, receiver.url)
    assert c.attempt(account, "slow")["Status"] == 503
    c.take("retry_schedule", allow_destination="127.0.0.0/8", retry_schedule="1ms,1ms")
    own_daemon.api().events(account.event("quick"))
    own_daemon.api().wait_state("quick", account.partner_id, "dead")
    assert len(receiver.of("quick")) == 3 and len(receiver.of("slow")) == 1
    receiver.close()


def test_who_is_trusted_is_reloaded(own_daemon, tmp_path):
    def keep(server, s, request):
        s.sendall(answer(200))
        return True

    authorities = [Authority(tmp_path, name) for name in ("one", "two")]
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*authorities[0].sign("server"))
    server = RawServer(keep, tls)
    trusted = tmp_path / "trusted.pem"
    settings = dict(allow_destination="127.0.0.0/8", ca_file=str(trusted))
    trusted.write_bytes(open(authorities[0].file, "rb").read())
    c = Configured(own_daemon, tmp_path, **settings)
    account = Account(own_daemon, server.url("https", "localhost"))
    assert c.attempt(account, "trusted")["Status"] == 200
    # The same file with a new content; neither the open connection nor its session is used.
    trusted.write_bytes(open(authorities[1].file, "rb").read())
    c.take(**settings)
    assert c.attempt(account, "stranger")["Class"] == "tls"
    c.take("ca_file", **dict(settings, ca_file=authorities[0].file))
    assert c.attempt(account, "again")["Status"] == 200
    server.close()


def test_messages_of_the_operator_are_reloaded(own_daemon, tmp_path):
    servers, told = (MailServer(), MailServer()), (Receiver(), Receiver())
    says = {"status": 410}
    receiver = Receiver(lambda request: says["status"])

    def settings(i):
        return dict(allow_destination="127.0.0.0/8", smtp_url=servers[i].url(), mail_from="from%d@wall.example" % i,
                    operations_email="to%d@wall.example" % i, operations_url=told[i].url, operations_spacing="1")
    c = Configured(own_daemon, tmp_path, **settings(0))
    c.take("smtp_url", "mail_from", "operations_email", "operations_url", **settings(1))
    account = Account(own_daemon, receiver.url)
    own_daemon.api().events([account.event("gone-%d" % i) for i in range(20)])
    eventually(lambda: told[1].requests and servers[1].mails)
    (envelope, _), = servers[1].mails
    assert envelope == {"MAIL": "MAIL FROM:<from1@wall.example>", "RCPT": "RCPT TO:<to1@wall.example>"}
    assert not told[0].requests and not servers[0].mails
    # E-mail ends with a restart only: what there is goes on.
    c.write(dict(allow_destination="127.0.0.0/8"))
    said = reload(own_daemon)
    assert named(said, "setting_reloaded") == {"operations-url", "operations-email", "operations-spacing"}
    assert named(said, "setting_needs_restart") == {"smtp-url", "mail-from"}
    for each in (*servers, *told, receiver):
        each.close()


def test_reloads_under_load_lose_nothing(own_daemon, tmp_path):
    """Connections are closed and opened anew meanwhile; signals that meet are one."""
    receiver = Receiver()
    settings = dict(allow_destination="127.0.0.0/8", reads_per_minute="100000")
    c = Configured(own_daemon, tmp_path, **settings)
    account = Account(own_daemon, receiver.url)
    ended = threading.Event()

    def storm():
        for i in range(10**9):
            c.write(dict(settings, retry_schedule="%ds,1s" % (1 + i % 3), deny_destination="10.0.%d.0/24" % (i % 256)))
            own_daemon.process.send_signal(signal.SIGHUP)
            if ended.wait(0.01):
                return
    thread = threading.Thread(target=storm)
    thread.start()
    for i in range(30):
        own_daemon.api().events([account.event("e%d-%d" % (i, j)) for j in range(50)])
    eventually(lambda: len(set(receiver.ids())) == 1500, 60)
    ended.set()
    thread.join()
    assert named(reload(own_daemon), "setting_needs_restart") == set()
    assert own_daemon.metrics()["postbackd_callbacks_dead_total"] == 0
    assert own_daemon.stop() == 0
    receiver.close()


def refused(daemon, account, event_id):
    answer = daemon.api().post("/api/v1/events", account.event(event_id))
    return None if answer.status == 202 else answer


def test_bounds_of_the_store_are_reloaded(own_daemon, tmp_path):
    same = dict(retry_schedule="30d", allow_destination="127.0.0.0/8")
    c = Configured(own_daemon, tmp_path, **same, waiting_most="2")
    account = Account(own_daemon, "http://127.0.0.1:1/")
    for i in range(3):
        assert not refused(own_daemon, account, "before-%d" % i)
    eventually(lambda: refused(own_daemon, account, "too-many"), what="three wait")
    c.take("waiting_most", **same, waiting_most="1000")
    assert not refused(own_daemon, account, "after")
    c.take("waiting_most", **same, waiting_most="1")
    eventually(lambda: refused(own_daemon, account, "too-many"))
    if not POSTGRESQL:  # its disk is not ours
        c.take("waiting_most", "disk_reserve", **same, disk_reserve=str(1 << 30))
        found = eventually(lambda: refused(own_daemon, account, "full"))
        assert "Retry-After" in found.headers and "disk" in found.json["detail"], found.json
        c.take("disk_reserve", **same, disk_reserve="1")
        eventually(lambda: not refused(own_daemon, account, "room"))
    assert own_daemon.stop() == 0


def test_what_is_kept_is_reloaded(own_daemon, tmp_path):
    """A shorter period deletes at once, a longer one brings nothing back."""
    clock, receiver = Clock(tmp_path / "clock"), Receiver()
    own_daemon.env.update(shimmed(SHIM_CLOCK=clock.path))
    c = Configured(own_daemon, tmp_path, allow_destination="127.0.0.0/8", retain_attempts_days="60")
    account = Account(own_daemon, receiver.url)
    c.attempt(account, "old")
    own_daemon.api().wait_state("old", account.partner_id, "delivered")
    eventually(lambda: rows(own_daemon, "SELECT 1 FROM meta WHERE name='retention_clock_ms'"))
    clock.jump(40 * 86400)
    assert own_daemon.stop() == 0
    lived_until(own_daemon, clock)
    own_daemon.start()

    def attempts():
        return own_daemon.api().callback("old", account.partner_id)["Attempts"]
    c.attempt(account, "new")
    assert len(attempts()) == 1
    c.take("retain_attempts_days", allow_destination="127.0.0.0/8", retain_attempts_days="20")
    eventually(lambda: attempts() == [])
    c.take("retain_attempts_days", allow_destination="127.0.0.0/8", retain_attempts_days="60")
    assert attempts() == [] and len(own_daemon.api().callback("new", account.partner_id)["Attempts"]) == 1
    c.write(dict(allow_destination="127.0.0.0/8", retain_attempts_days="0"))
    failed = [e for e in reload(own_daemon) if e["event"] == "reload_failed"]
    assert len(failed) == 1 and "retain-attempts-days" in failed[0]["reason"]
    assert own_daemon.stop() == 0
    receiver.close()
