"""The listeners' certificates of several daemons on one database: each tells of its own."""
import os
import signal

import nodes
from harness import Receiver, eventually
from raw import Authority
from test_operations import messages


def told(ops):
    each = {m.json["MessageId"]: m for m in messages(ops)}  # one may come twice
    return sorted((m.json["Type"].partition("_")[2], m.json["Node"]) for m in each.values())


def test_one_that_has_renewed_hides_no_other(tmp_path, database):
    authority, ops = Authority(tmp_path), Receiver()
    names = ("a", "b")
    files = {name: authority.sign("listener-" + name, days=3) for name in names}

    def node(name):
        made = nodes.DatabaseDaemon(tmp_path / name, database, "--node-name", name, "--tls-cert", files[name][0],
                                    "--tls-key", files[name][1], "--operations-url", ops.url,
                                    "--operations-spacing", "1")
        return made.start(wait_ready=False)

    def renew(name):
        authority.sign("listener-" + name, days=29)
        os.kill(running[name].process.pid, signal.SIGHUP)
    running = {name: node(name) for name in names}
    eventually(lambda: told(ops) == [("expiring", "a"), ("expiring", "b")], 60)
    renew("b")
    eventually(lambda: told(ops) == [("expiring", "a"), ("expiring", "b"), ("renewed", "b")], 60)

    # A restart of either is no news.
    for name in names:
        assert running[name].stop() == 0
        running[name].start(wait_ready=False)
    renew("a")
    everything = [("expiring", "a"), ("expiring", "b"), ("renewed", "a"), ("renewed", "b")]
    eventually(lambda: told(ops) == everything, 60)
    for name in names:
        assert running[name].stop() == 0
    assert told(ops) == everything
    ops.close()
