"""Requests that may meet a daemon that is being killed, and so are sent until they are answered.

Only for what may be sent twice: reads, events, settings.
"""
import http.client
import time

from harness import PATIENCE

LIFETIME_S = 60


class Client:
    def __init__(self, daemon, partner_id):
        self.daemon, self.partner_id = daemon, partner_id

    def send(self, method, path, body=None, query=None, headers=None):
        deadline = time.monotonic() + LIFETIME_S * PATIENCE
        while True:
            try:
                answer = self.daemon.api().request(method, path, body, query=query, headers=headers)
                if answer.status not in (429, 503):
                    return answer
                why = repr(answer)
            except (OSError, http.client.HTTPException) as e:
                why = repr(e)
            assert time.monotonic() < deadline, "%s %s is never answered: %s" % (method, path, why)
            time.sleep(0.02)

    def get(self, path, **query):
        answer = self.send("GET", path, query=dict(query, partnerId=self.partner_id))
        assert answer.status == 200, (path, query, answer)
        return answer

    def post(self, path, body=None):
        """What changes something is asked for where nothing is killed."""
        return self.send("POST", path, body, query={"partnerId": self.partner_id})

    def patch(self, path, **changes):
        answer = self.send("PATCH", path, changes)
        assert answer.status == 200, (path, changes, answer)
