"""A proxy before PostgreSQL that makes any statement of the daemon's fail, with any SQLSTATE: the
statement is spoiled on its way, so the server's transaction is really aborted, and the server's
answer gets the SQLSTATE that was asked for."""
import re

from names import NamesProxy, text_at


def shape(text):
    """One statement, whatever numbers its texts have: partitions, times, limits."""
    return re.sub(r"\d+", "#", re.sub(r"\s+", " ", text)).strip()


class FaultProxy(NamesProxy):
    def __init__(self, uri):
        self.seen = {}  # shapes of statements: how often
        self.shapes = {}  # by (connection, name)
        self.faults = {}  # by shape: (SQLSTATE, how often still)
        self.spoiled = {}  # by shape: how often
        self.states = {}  # by connection: what its next error is to be
        super().__init__(uri)

    def fail(self, wanted, state, times):
        """The next statements of that shape."""
        with self.lock:
            self.faults[wanted] = state, times

    def mend(self, *shapes):
        """Those, or all."""
        with self.lock:
            for one in shapes or list(self.faults):
                self.faults.pop(one, None)

    def is_due(self, wanted):
        with self.lock:
            return wanted in self.faults

    def takes(self, number, text):
        """Whether this one is spoiled."""
        with self.lock:
            found = shape(text)
            self.seen[found] = self.seen.get(found, 0) + 1
            if found not in self.faults:
                return False
            state, times = self.faults.pop(found)
            if times > 1:
                self.faults[found] = state, times - 1
            self.spoiled[found] = self.spoiled.get(found, 0) + 1
            self.states[number] = state
            return True

    def asked(self, number, kind, whole):
        if kind == b"P":
            name, at = text_at(whole, 5)
            text, end = text_at(whole, at)
            with self.lock:
                self.shapes[number, name] = text
            # One with a name is looked at when it is used.
            if not name and self.takes(number, text):
                bad = b"spoiled " + b" " * 8
                rest = whole[end:]
                body = name.encode() + b"\0" + bad + b"\0" + rest
                return b"P" + (len(body) + 4).to_bytes(4, "big") + body
        elif kind == b"B":
            _, at = text_at(whole, 5)
            name, _ = text_at(whole, at)
            if name and self.takes(number, self.shapes[number, name]):
                return whole[:at] + b"x" + whole[at + 1:]
        return whole

    def answered(self):
        def change(number, kind, whole):
            with self.lock:
                state = self.states.pop(number, None) if kind == b"E" else None
            if not state:
                return whole
            fields = [field for field in whole[5:].split(b"\0") if field]
            fields = [b"C" + state.encode() if field[:1] == b"C" else field for field in fields]
            body = b"\0".join(fields) + b"\0\0"
            return b"E" + (len(body) + 4).to_bytes(4, "big") + body
        return change
