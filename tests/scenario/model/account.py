"""A partner as the contract describes it: what becomes of events, settings, resends and erasures.

Nothing here is concurrent: settle() says what everything comes to once nothing is left to do.
"""
import hashlib
from collections import defaultdict

from model.callbacks import Callback, Erased
from model.money import D, printed
from model.reports import Books
from model.terms import Terms


class App(Terms):
    """An app's settings, and what its endpoints are in."""

    def __init__(self, app_id, secret, url, currency, decimals, fee, cap, negative):
        super().__init__(None, currency, decimals, fee, cap, negative)
        self.id, self.secret = app_id, secret
        self.clients = {}  # integration, by ClientId
        self.is_enabled = True
        self.url = dict(dict.fromkeys(("success", "failure", "offer"), url), test=None)
        self.disabled_lanes = set()
        self.final_statuses = []
        self.unwanted = set()  # types that are not among RewardTypes
        self.settings = {"LegacyFields": False, "ExtendedFields": False}

    def has_urls(self):
        return all(self.url[lane] for lane in ("success", "failure", "offer"))

    def wants(self, c):
        """A test of an event from before the app had its TestCallbackUrl goes nowhere."""
        return c.kind not in self.unwanted and not (c.is_test and c.lane != "test" and self.url["test"])


class Account:
    def __init__(self, partner_id, tries):
        self.partner_id, self.tries = partner_id, tries
        self.apps = []
        self.is_enabled = True
        self.disabled_clients = set()
        self.contents = {}  # of every accepted event, as compared with one of the same EventId
        self.events = []  # all that were accepted, in order; those that owe no callback too
        self.by_id = {}
        self.reports = Books()

    def app_of(self, client):
        return next((a for a in self.apps if client in a.clients), None)

    # ---- taking in

    def judge(self, event, content, at, at_text, flaw=None, deliver=True):
        """"accepted", "duplicate", or the codes of which at least one must be said."""
        event_id = event["EventId"]
        if event_id in self.contents and flaw is None:
            return "duplicate" if self.contents[event_id] == content else {"conflict"}
        is_disabled = not self.is_enabled or event["ClientId"] in self.disabled_clients
        if flaw is not None and not (is_disabled and flaw == "original_not_found"):  # looked for last
            return {flaw}
        if is_disabled:
            return {"disabled"}
        self.accept(event, at, at_text, deliver)
        self.contents[event_id] = content
        return "accepted"

    def accept(self, event, at, at_text, deliver):
        app = self.app_of(event["ClientId"])
        revenue = D(str(event.get("RevenueAmount", "0")))
        paid = event["Type"] not in ("survey_started", "offer_clicked", "offer_completion_reversed")
        reward = app.reward(event, at, revenue) if paid else D(0)
        c = Callback(event, app, at_text, reward, revenue, app.clients[event["ClientId"]])
        if event["Type"] == "offer_completion_reversed":
            c.take_from_original(self.by_id[event["OriginalRewardId"]])
        c.choose_lane()
        self.reports.add(dict(event, PanelistId=c.panelist), at, c.revenue, c.reward, c.is_test)
        self.events.append(c)
        self.by_id[c.id] = c
        if c.lane is None:
            c.state = "none"
        elif not deliver:
            c.end("skipped", "imported")
        elif app.url[c.lane] is None:
            c.end("skipped", "no_url")
        elif not app.wants(c):
            c.end("skipped", "not_wanted")
        elif c.original and not c.original.is_final():
            c.is_held = True

    # ---- what happens to what is there

    def settle(self):
        """Everything that can be tried is tried until it is final; reversals follow their originals."""
        moved = True
        while moved:
            moved = False
            for c in self.callbacks():
                if c.is_held or not (c.state == "pending" or c.owes_try) or not c.app.is_enabled:
                    continue
                if c.app.url[c.lane] is None:
                    c.owes_try = False
                    if c.state == "pending":
                        c.end("skipped", "no_url")
                elif c.lane in c.app.disabled_lanes:
                    continue
                elif not c.app.wants(c):
                    c.owes_try = False
                    if c.state == "pending":
                        c.end("skipped", "not_wanted")
                else:
                    c.run(self.tries)
                moved = True

    def resend(self, c):
        """Whether it is taken."""
        if not c.has_body:
            return False
        if c.state == "delivered":
            c.owes_try = True
        elif c.state in ("dead", "skipped"):
            c.state, c.reason, c.failed = "pending", None, 0
        return True

    def erase(self, panelist):
        """How many events are erased."""
        name = Erased()
        found = [c for c in self.events if c.panelist == panelist]
        for c in found:
            c.panelist, c.has_body, c.owes_try = name, False, False
            if c.state == "pending":
                c.end("skipped", "disabled")
        for app in self.apps:
            app.paid.pop(panelist, None)
        self.reports.rename(panelist, name)
        return len(found)

    def enable_lane(self, app, lane):
        """Long after the last slot of everything that waits in it has passed."""
        app.disabled_lanes.discard(lane)
        waiting = [c for c in self.callbacks()
                   if (c.app, c.lane, c.state) == (app, lane, "pending") and not c.is_held]
        for c in waiting:
            c.end("skipped", "disabled")

    # ---- what can be asked

    def callbacks(self):
        return [c for c in self.events if c.lane is not None]

    def days(self):
        return sorted({c.at_text[:10] for c in self.callbacks()})

    def statement(self, day):
        """{AppId: (Count, Reward, RevenueAmount, Digest, groups)} of one day."""
        by_app = defaultdict(list)
        for c in self.callbacks():
            if c.at_text[:10] == day and not c.is_test:
                by_app[c.app.id].append(c)
        return {app: summary(found) for app, found in by_app.items()}


def summary(found):
    groups = defaultdict(list)
    for c in found:
        groups[c.kind, c.state].append(c)
    lines = sorted((c.id.encode(), c.reward_text().encode(), printed(c.revenue).encode()) for c in found)
    digest = hashlib.sha256(b"".join(b"%s\t%s\t%s\n" % line for line in lines)).hexdigest()
    return sums(found), digest, {key: sums(some) for key, some in groups.items()}


def sums(found):
    return len(found), sum(c.reward for c in found), sum(c.revenue for c in found)

