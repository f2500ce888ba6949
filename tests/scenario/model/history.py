"""One account's random history: in each phase settings, erasures, resends and tests; then events,
while the daemon may be killed; then everything is compared with the model."""
import random
import threading
import time

from checks import encode
from harness import Account as RealAccount
from harness import Receiver, eventually
from model.account import Account, App
from model.callbacks import LANES, is_erased
from model.client import Client
from model.compare import (assert_list, assert_received, assert_reports, assert_statements, assert_states,
                           feed_difference, until_equal)
from model.feed import FeedReader
from model.traffic import Traffic

PHASES = 6
SCHEDULE = "300ms,300ms"
TRIES = 3
MISSED_S = 1.5  # longer than the whole schedule: every slot of what has waited so long has passed
URL_FIELDS = {"success": "SuccessCallbackUrl", "failure": "FailureCallbackUrl", "offer": "OfferCallbackUrl",
              "test": "TestCallbackUrl"}


class History:
    def __init__(self, daemon, seed, today):
        self.seed, self.random = seed, random.Random(seed)
        self.daemon = daemon
        self.broken = None  # the app that is answered 500
        self.receiver = Receiver(self.answer)
        self.make_account(today)
        self.traffic = Traffic(self.random, self.account, today, "s%d-" % seed)
        self.feed = FeedReader(self.client, random.Random(seed + 1))
        self.touched = set()

    def make_account(self, today):
        r = self.random
        decimals = (r.choice((0, 2, 6)), 2)
        first = RealAccount(self.daemon, self.receiver.url, clients=("sdk", "monetization_api"), currency="72.5",
                            RewardDecimals=decimals[0], DisqualificationReward="0.75", DisqualificationCap=2,
                            NegativeAdHoc=True)
        self.partner_id = first.partner_id
        self.client = Client(self.daemon, self.partner_id)
        self.account = Account(self.partner_id, TRIES)
        self.account.today = today
        url = self.receiver.url
        apps = [App(first.app_id, first.secret, url, "72.5", decimals[0], "0.75", 2, True)]
        apps[0].clients = dict(zip(first.clients, ("sdk", "monetization_api")))
        settings = {"AppId": first.app_id + "-b", "Name": "Second", "CurrencyValue": "0.333333",
                    "DisqualificationReward": 3, "OfferCallbackUrl": url, "SuccessCallbackUrl": url}
        answer = self.daemon.api().post("/api/v1/partners/%s/apps" % self.partner_id, settings)
        assert answer.status == 201, answer
        apps.append(App(settings["AppId"], answer.json["CallbackSecret"], url, "0.333333", decimals[1], "3", 6, False))
        apps[1].url["failure"] = None
        name = "z" + first.clients[0]
        answer = self.daemon.api().post("/api/v1/apps/%s/clients" % apps[1].id,
                                        {"ClientId": name, "Name": name, "Integration": "iframe"})
        assert answer.status == 201, answer
        apps[1].clients = {name: "iframe"}
        self.account.apps = apps

    def answer(self, request):
        """By the callback's script and the number of the try; of a test: what its panelist is called."""
        reward_id = request.json["RewardId"]
        if reward_id.startswith("test_"):
            return int(request.json["PanelistId"])
        if self.broken == self.account.by_id[reward_id].app.id:
            return 500
        return self.account.by_id[reward_id].answer(int(request.header("Postbackd-Attempt")))

    # ---- first: what changes things at rest

    def change(self):
        self.resent = set()
        steps = (self.change_app, self.change_url, self.disable_lane, self.disable_client, self.disable_partner,
                 self.erase, self.recover, self.reverse_and_erase, self.break_down)
        for step in self.random.sample(steps, 3):
            step()
            self.rest()
        for _ in range(self.random.randrange(12)):
            self.resend()
        if self.random.random() < 0.5:
            self.send_test()

    def rest(self):
        self.account.settle()
        until_equal(lambda: feed_difference(self.account, self.client), "the feed at rest")

    def change_app(self):
        app = self.random.choice(self.account.apps)
        if self.random.random() < 0.5 and not app.disabled_lanes:
            app.is_enabled = not app.is_enabled
            self.client.patch("/api/v1/apps/" + app.id, Enabled=app.is_enabled)
        elif self.random.random() < 0.5:
            app.final_statuses = self.random.choice(([], [403], [400, 404]))
            self.client.patch("/api/v1/apps/" + app.id, FinalStatuses=app.final_statuses)
        elif self.random.random() < 0.3:
            app.unwanted = self.random.choice((set(), {"offer_clicked"}, {"offer_clicked", "survey_disqualified"}))
            wanted = sorted(set(LANES) - app.unwanted) if app.unwanted else None
            self.client.patch("/api/v1/apps/" + app.id, RewardTypes=wanted)
        else:
            name = self.random.choice(sorted(app.settings))
            app.settings[name] = not app.settings[name]
            self.client.patch("/api/v1/apps/" + app.id, **{name: app.settings[name]})

    def change_url(self):
        app = self.random.choice(self.account.apps)
        lane = self.random.choice(sorted(URL_FIELDS))
        if lane in app.disabled_lanes:
            self.enable_lane(app, lane)
            return
        url = self.random.choice((None, self.receiver.url, self.receiver.url + "/%d?q=1" % self.random.randrange(9)))
        app.url[lane] = url
        self.client.patch("/api/v1/apps/" + app.id, **{URL_FIELDS[lane]: url})

    def enable_lane(self, app, lane):
        time.sleep(MISSED_S)
        if self.random.random() < 0.5:
            self.client.patch("/api/v1/apps/" + app.id, **{URL_FIELDS[lane]: app.url[lane]})
        else:
            answer = self.client.post("/api/v1/apps/%s/endpoints/%s/enable" % (app.id, lane))
            assert answer.status == 200, answer
        self.account.enable_lane(app, lane)

    def pick_working_app(self):
        """One whose events are taken and whose success lane is tried at once, and a client of it; or None."""
        app = self.random.choice(self.account.apps)
        client = sorted(app.clients)[0]
        works = app.is_enabled and app.url["success"] and not app.disabled_lanes and self.account.is_enabled
        return (app, client) if works and client not in self.account.disabled_clients else (None, None)

    def disable_lane(self):
        """Five that are answered 410, behind one that is not, so that a row begins with them."""
        app, client = self.pick_working_app()
        if not app:
            return
        for script, count in (([200], 1), ([410, 200], 5)):
            items = [self.traffic.simple(client, "profiler_completed", script) for _ in range(count)]
            self.post(items, True)
            self.rest()
        app.disabled_lanes.add("success")
        path = "/api/v1/apps/%s/endpoints" % app.id
        eventually(lambda: self.client.get(path).json["Endpoints"][0]["State"] == "disabled",
                   what="five 410s in a row disable the endpoint")

    def disable_client(self):
        app = self.random.choice(self.account.apps)
        client = sorted(app.clients)[-1]
        if client not in self.account.disabled_clients and self.random.random() < 0.5:
            return
        self.account.disabled_clients ^= {client}
        self.client.patch("/api/v1/clients/" + client, Enabled=client not in self.account.disabled_clients)

    def disable_partner(self):
        """Its events are rejected; what it is owed goes on."""
        if self.account.is_enabled and self.random.random() < 0.7:
            return
        self.account.is_enabled = not self.account.is_enabled
        self.client.patch("/api/v1/partners/" + self.partner_id, Enabled=self.account.is_enabled)

    def erase(self):
        panelist = "u%d" % self.random.randrange(self.traffic.panelists)
        self.touched |= {c for c in self.account.callbacks() if c.panelist == panelist}
        answer = self.client.post("/api/v1/panelists/erase", {"PanelistId": panelist})
        assert answer.status == 200, answer
        assert answer.json["Erased"] == self.account.erase(panelist), (panelist, answer)

    def recover(self):
        """All that is dead, or was skipped, of an app that has somewhere to send it to."""
        app = self.random.choice(self.account.apps)
        if app.disabled_lanes or not app.is_enabled or not app.has_urls():
            return
        state = self.random.choice(("dead", "skipped"))
        found = [c for c in self.account.callbacks() if c.app is app and c.state == state and c.has_body]
        body = {"AppId": app.id, "From": "2020-01-01T00:00:00Z", "To": "2100-01-01T00:00:00Z", "States": [state],
                "RatePerSecond": 1000}
        answer = self.client.post("/api/v1/callbacks/recover", body)
        assert answer.status == 202, answer
        for c in found:
            assert self.account.resend(c)
        self.touched |= set(found)
        path = "/api/v1/recoveries/" + answer.json["RecoveryId"]
        eventually(lambda: self.client.get(path).json["State"] == "done", 60, what="the recovery is done")
        assert self.client.get(path).json["Resent"] == len(found), (answer, len(found))

    def reverse_and_erase(self):
        """At once, and the original still waits: what was first, the number of the erased tells."""
        app, client = self.pick_working_app()
        if not app:
            return
        self.client.patch("/api/v1/apps/" + app.id, Enabled=False)
        app.is_enabled = False
        for _ in range(3):
            panelist = "race-%d" % self.traffic.serial
            original, _ = item = self.traffic.simple(client, "offer_completed", [200], panelist)
            self.post([item], True)
            reversal = {"PanelistId": panelist} if self.random.random() < 0.5 else {}
            reversal, judge = self.traffic.reversal(client, original["EventId"], reversal)
            erased = []
            eraser = threading.Thread(target=lambda: erased.append(
                self.client.post("/api/v1/panelists/erase", {"PanelistId": panelist})))
            eraser.start()
            answer = self.client.send("POST", "/api/v1/events", encode(reversal))
            eraser.join()
            assert answer.json["Accepted"] == 1 and erased[0].status == 200, (answer, erased)
            came_first = erased[0].json["Erased"] == 2
            steps = [judge, lambda: self.account.erase(panelist)]
            for step in steps if came_first else reversed(steps):
                step()
            self.touched |= {self.account.by_id[e["EventId"]] for e in (original, reversal)}
        app.is_enabled = True
        self.client.patch("/api/v1/apps/" + app.id, Enabled=True)

    def break_down(self):
        """All that the success lane is sent is answered 500 for a while. When each try falls is not
        the model's to say: it takes over what is found, if that may be."""
        app, client = self.pick_working_app()
        if not app:
            return
        items = [self.traffic.simple(client, "ad_hoc", [200]) for _ in range(self.random.randrange(3, 12))]
        found = [self.account.by_id[event["EventId"]] for event, _ in items]
        self.broken = app.id
        self.post(items, True)
        time.sleep(self.random.uniform(0.1, 2))
        self.broken = None
        for c in found:
            eventually(lambda c=c: self.take_over(c), 60, 0.1, "%s is final after a break-down" % c.id)
        lost = [c for c in found if c.state == "dead"]
        if lost:  # a suspended lane has such a resend as its next try, and opens
            self.client.post("/api/v1/callbacks/%s/resend" % lost[0].id)
            assert self.account.resend(lost[0])
            self.rest()

    def take_over(self, c):
        found = self.client.get("/api/v1/callbacks/" + c.id).json
        if found["State"] not in ("delivered", "dead"):
            return False
        statuses = [a["Status"] for a in found["Attempts"]]
        failed = [s for s in statuses if s != 200]
        assert set(failed) <= {500} and len(failed) <= TRIES, found
        assert (found["State"] == "delivered") == (statuses[-1:] == [200]), found
        if found["State"] == "dead":
            wanted = ("attempts",) if len(failed) == TRIES else ("endpoint_down",)
            assert found["Reason"] in wanted, found
        c.attempts = [(a["Status"], a["Url"]) for a in found["Attempts"]]
        c.end(found["State"], found["Reason"])
        return True

    def resend(self):
        some = [c for c in self.account.callbacks()
                if not c.owes_try and c.lane not in c.app.disabled_lanes and c not in self.resent]
        if not some:
            return
        c = self.random.choice(some)
        self.resent.add(c)
        answer = self.client.post("/api/v1/callbacks/%s/resend" % c.id)
        if self.account.resend(c):
            assert answer.status == 202, (c.id, c.state, answer)
        else:
            assert answer.status == 409, (c.id, answer)
        self.touched.add(c)

    def send_test(self):
        app = self.random.choice([a for a in self.account.apps])
        if not (app.is_enabled and (app.url["test"] or app.url["offer"])):
            return
        status = self.random.choice((200, 404, 410, 500))
        answer = self.client.post("/api/v1/apps/%s/test-callback" % app.id,
                                  {"RewardType": "offer_completed", "PanelistId": str(status)})
        assert answer.status == 200 and answer.json["Status"] == status, answer
        assert answer.json["RewardId"].startswith("test_"), answer

    # ---- then: events, whatever is done to the daemon meanwhile

    def send_events(self):
        for _ in range(self.random.randrange(2, 6)):
            deliver = self.random.random() > 0.15
            self.post(self.traffic.batch(self.random.choice((1, 5, 20, 60)), deliver), deliver)
            time.sleep(self.random.uniform(0, 0.15))

    def post(self, items, deliver):
        """One batch; a second time is allowed to find duplicates where the first was not answered."""
        if not items:
            return
        headers, events = {}, [event for event, _ in items]
        if self.random.random() < 0.5:
            body = encode(events)
        else:
            body, headers = "\n".join(encode(e) for e in events), {"Content-Type": "application/x-ndjson"}
        traceparent = None
        if self.random.random() < 0.5:
            traceparent = "00-%032x-%016x-%02x" % tuple(self.random.getrandbits(bits) | 1 for bits in (128, 64, 8))
            headers["traceparent"] = traceparent
        answer = self.client.send("POST", "/api/v1/events" + ("" if deliver else "?deliver=false"), body,
                                  headers=headers)
        assert answer.status == 202, answer
        found = answer.json
        rejected = {item["Index"]: item for item in found["Rejected"]}
        for index, (event, verdict) in enumerate(items):
            if isinstance(verdict, str):
                assert index not in rejected, (event, rejected[index])
            else:
                assert index in rejected, (event, verdict)
                assert verdict & {e["Code"] for e in rejected[index]["Errors"]}, (event, verdict, rejected[index])
                assert rejected[index]["EventId"] == event["EventId"]
        assert found["Accepted"] + found["Duplicates"] + len(rejected) == len(items), found
        taken = [self.account.by_id[event["EventId"]] for event, verdict in items if verdict == "accepted"]
        for c in taken:
            c.traceparent = traceparent
        self.touched |= {c for c in taken if c.lane}

    # ---- last: nothing is left to do

    def compare(self):
        self.account.settle()
        assert_states(self.account, self.client, self.touched)
        self.touched.clear()
        assert_statements(self.account, self.client)
        assert_reports(self.account, self.client)

    def finish(self, kills):
        seen = self.feed.finish()
        assert seen == [c.id for c in self.account.callbacks()], "the feed, read once and never again"
        for query in ({}, {"state": "dead"}, {"state": "pending"}, {"rewardType": "offer_completed"}):
            assert_list(self.account, self.client, **query)
        assert_received(self.account, self.receiver.requests, kills)

    def close(self):
        self.feed.done.set()
        self.receiver.close()
