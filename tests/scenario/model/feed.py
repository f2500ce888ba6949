"""A reader of the rewards feed that never stops: whatever is killed, it reads each reward once."""
import json
import threading
import time


class FeedReader(threading.Thread):
    def __init__(self, client, r):
        super().__init__(daemon=True)
        self.client, self.random = client, r
        self.seen = []  # RewardIds, as they came
        self.cursor = None
        self.done = threading.Event()
        self.failure = None
        self.start()

    def run(self):
        try:
            while self.page() or not self.done.is_set():
                time.sleep(self.random.uniform(0, 0.05))
        except BaseException as e:  # said by the thread that joins
            self.failure = e

    def page(self):
        query = {"limit": self.random.choice((1, 2, 7, 50, 500))}
        if self.cursor:
            query["after"] = self.cursor
        found = self.client.get("/api/v1/rewards", **query).json
        self.seen += [row["RewardId"] for row in found["Items"]]
        assert found["Next"] or not self.cursor, "Next is always given"
        self.cursor = found["Next"]
        return found["Items"]

    def finish(self):
        """All that it has read, until there was no more."""
        self.done.set()
        self.join(60)
        assert not self.is_alive() and self.failure is None, self.failure
        return self.seen


def whole_feed(client):
    """Every row as it is now, numbers as the text they were printed as."""
    rows, query = [], {"limit": 500}
    while True:
        found = json.loads(client.get("/api/v1/rewards", **query).body, parse_float=str, parse_int=str)
        rows += found["Items"]
        if len(found["Items"]) < 500:
            return rows
        query["after"] = found["Next"]
