"""A receiver fast enough for a load test: one thread, one line of record per request.

`answer(path, reward_id, seen)` gives the status; `seen` is how often that RewardId came before.
"""
import asyncio
import re
import threading
import time

REWARD_ID = re.compile(rb'"RewardId":"([^"]*)"')
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.I)


class Recorder:
    def __init__(self, answer=lambda path, reward_id, seen: 200):
        self.answer = answer
        self.log = {}  # RewardId: [(time, status, body)]
        self.loop = asyncio.new_event_loop()
        started = threading.Event()
        self.thread = threading.Thread(target=self._run, args=(started,), daemon=True)
        self.thread.start()
        started.wait()

    def _run(self, started):
        asyncio.set_event_loop(self.loop)
        self.server = self.loop.run_until_complete(
            self.loop.create_server(lambda: _Connection(self), "127.0.0.1", 0, backlog=512))
        self.port = self.server.sockets[0].getsockname()[1]
        started.set()
        self.loop.run_forever()
        self.server.close()
        self.loop.run_until_complete(self.server.wait_closed())
        self.loop.close()

    def url(self, path):
        return "http://127.0.0.1:%d%s" % (self.port, path)

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()

    def take(self, path, body):
        reward_id = REWARD_ID.search(body).group(1).decode()
        log = self.log.setdefault(reward_id, [])
        status = self.answer(path, reward_id, len(log))
        log.append((time.time(), status, body))
        return status


class _Connection(asyncio.Protocol):
    def __init__(self, recorder):
        self.recorder, self.buffer = recorder, b""

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.buffer += data
        while True:
            head, found, rest = self.buffer.partition(b"\r\n\r\n")
            if not found:
                return
            length = int(LENGTH.search(head).group(1))
            if len(rest) < length:
                return
            self.buffer = rest[length:]
            status = self.recorder.take(head.split(b" ", 2)[1].decode(), rest[:length])
            self.transport.write(b"HTTP/1.1 %d Said\r\nContent-Length: 0\r\n\r\n" % status)
