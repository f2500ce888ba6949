"""Random events of an account: good ones, duplicates, conflicts and refused ones; each is judged
by the model as it is made, and has a script of what its receiver will answer."""
from datetime import timedelta

from checks import spell
from model.money import D
from model.spellings import negated, random_amount, random_moment, random_time_text

KINDS = (["survey_started"] * 3 + ["survey_completed"] * 5 + ["survey_disqualified"] * 4 +
         ["profiler_completed", "ad_hoc", "ad_hoc", "offer_clicked"] + ["offer_completed"] * 5 +
         ["offer_completion_reversed"] * 4)
# What a receiver answers to the first, second ... try; the last one from then on. None: it hangs up.
SCRIPTS = ([[200]] * 10 + [[404, 200], [400, 404, 200], [404], [302, 404, 403, 200], [404, 404, 404, 200],
                           [404, 404, 404, 404, 404, 403, 200], [200, 404], [200, 403], [200, 410, 200]])
# As a sick receiver would; three in a row would suspend the lane, and time would decide.
STRAINS = ([500, 200], [None, 200], [503, 404, 200], [429, 404, 404, 200], [404, None, 200], [408, 200])
GONE = ([410, 200], [404, 410, 200])
TEXTS = ("", "plain", "ü/<&>", 'quo"te\\', "tab\t\x01\x1f\n", "s" * 300, "\u2028\U0001f600\x7f")
DAYS_AGO = (1, 1, 1, 2, 3, 40, 88)
IMPORTED_DAYS_AGO = (2, 200, 1500)


def cut_to_ms(at):
    return at.replace(microsecond=at.microsecond // 1000 * 1000)


class Traffic:
    def __init__(self, r, account, today, prefix):
        self.random, self.account, self.today, self.prefix = r, account, today, prefix
        self.serial = 0
        self.sent = []  # (event, content)
        self.panelists = 12
        self.strain = {}  # how many of a lane's callbacks may still be answered as by a sick receiver
        self.gone = {}  # or with 410: one less than five, so that they never disable it

    def batch(self, size, deliver=True):
        """Items, and what must be said of each."""
        items = []
        while len(items) < size:
            roll = self.random.random()
            if roll < 0.05 and self.sent:
                items.append(self.again())
            elif roll < 0.09:
                items.append(self.refused(deliver))
            else:
                items.append(self.fresh(deliver))
        return [item for item in items if item]

    def fresh(self, deliver):
        event, at, content = self.make(deliver)
        if event is None:
            return None
        verdict = self.account.judge(event, content, cut_to_ms(at), content["Timestamp"], deliver=deliver)
        if verdict == "accepted":
            self.sent.append((event, content))
            callback = self.account.by_id[event["EventId"]]
            if callback.lane:
                callback.script = self.script(callback)
        return event, verdict

    def simple(self, client, kind, script, panelist="simple"):
        """An item with nothing special, for a step that needs a certain answer."""
        self.serial += 1
        at = cut_to_ms(self.at(1))
        event = {"EventId": "%s%d" % (self.prefix, self.serial), "Type": kind, "ClientId": client,
                 "PanelistId": panelist, "Timestamp": spell(at)}
        if kind == "ad_hoc":
            event["Reward"] = "1"
        if kind == "offer_completed":
            event.update(RevenueAmount="2.5", OfferId=5, OfferTitle="Offer")
        verdict = self.account.judge(event, event, at, spell(at))
        assert verdict == "accepted", (event, verdict)
        self.account.by_id[event["EventId"]].script = script
        return event, verdict

    def reversal(self, client, original, more):
        """One, and what has the model take it, which its caller does at the right moment."""
        self.serial += 1
        at = cut_to_ms(self.at(1))
        event = dict({"EventId": "%s%d" % (self.prefix, self.serial), "Type": "offer_completion_reversed",
                      "ClientId": client, "OriginalRewardId": original, "Timestamp": spell(at)}, **more)
        return event, lambda: self.account.judge(event, event, at, spell(at))

    def script(self, callback):
        r, lane = self.random, (callback.app.id, callback.lane)
        roll = r.random()
        if roll < 0.06 and self.strain.setdefault(lane, 2) > 0:
            self.strain[lane] -= 1
            return r.choice(STRAINS)
        if roll < 0.12 and self.gone.setdefault(lane, 4) > 0:
            self.gone[lane] -= 1
            return r.choice(GONE)
        return r.choice(SCRIPTS)

    def again(self):
        """One that was taken before, its members in another order; or the same id with other content."""
        r = self.random
        event, content = r.choice(self.sent)
        names = list(event)
        r.shuffle(names)
        event = {name: event[name] for name in names}
        if r.random() < 0.3:
            event["SessionId"] = "another"
            content = dict(content, SessionId="another")
        return event, self.account.judge(event, content, None, None)

    def refused(self, deliver):
        r = self.random
        app = r.choice(self.account.apps)
        client = r.choice(sorted(app.clients))
        self.serial += 1
        event = {"EventId": "%sbad-%d" % (self.prefix, self.serial), "Type": "survey_completed", "ClientId": client,
                 "PanelistId": "u1", "RevenueAmount": "1"}
        change, code = r.choice((
            ({"RevenueAmount": "0.0000001"}, "invalid"), ({"RevenueAmount": "1000000.01"}, "out_of_range"),
            ({"RevenueAmount": "-1"}, "out_of_range"), ({"PanelistId": ""}, "out_of_range"),
            ({"EventId": "test_%d" % self.serial}, "invalid"), ({"ClientId": "nobody"}, "unknown_client"),
            ({"Colour": "red"}, "unknown_field"), ({"Type": "survey"}, "invalid"),
            ({"Timestamp": spell(self.at(91) if deliver else self.at(-2))}, "out_of_range"),
            ({"Type": "offer_completed", "OfferTitle": "t"}, "required"),
            ({"Type": "offer_completion_reversed", "RevenueAmount": "0", "OriginalRewardId": "nobody"},
             "original_not_found"),
            ({"Type": "ad_hoc"}, "required")))
        event.update(change)
        return event, self.account.judge(event, None, None, None, flaw=code)

    def at(self, days):
        return random_moment(self.random, self.today - timedelta(days=days))

    def make(self, deliver):
        """An event, its time and its content by value; or no event: there is nothing to reverse."""
        r = self.random
        app = r.choice(self.account.apps)
        kind = r.choice(KINDS)
        self.serial += 1
        e = {"EventId": "%s%d" % (self.prefix, self.serial), "Type": kind,
             "ClientId": r.choice(sorted(app.clients)), "PanelistId": "u%d" % r.randrange(self.panelists)}
        if kind == "offer_completion_reversed" and not self.add_original(e, app):
            return None, None, None
        if r.random() < 0.1 and kind != "offer_completion_reversed":
            e["IsTest"] = True
        if r.random() < 0.3 and kind != "offer_completion_reversed":
            e["SessionId"] = r.choice(TEXTS)
        if r.random() < 0.3 and not kind.startswith("offer_"):
            e["Mid"] = r.choice(TEXTS)
        if kind in ("offer_completed", "offer_clicked"):
            e.update(OfferId=r.choice((1, 99, 2 ** 53 - 1)), OfferTitle=r.choice(TEXTS[1:]))
        if kind == "offer_completed" and r.random() < 0.5:
            e["OfferGoalId"] = r.choice(("7", 7, "goal-ü"))
        content = dict(e)
        self.add_amounts(e, content, app)
        at = self.at(r.choice(DAYS_AGO if deliver else IMPORTED_DAYS_AGO))
        e["Timestamp"], content["Timestamp"] = random_time_text(r, at), spell(cut_to_ms(at))
        return e, at, content

    def add_original(self, e, app):
        left = [c.id for c in self.account.events
                if c.app is app and c.kind == "offer_completed" and not c.reversal]
        if not left:
            return False
        original = self.account.by_id[self.random.choice(left)]
        e["OriginalRewardId"] = original.id
        if original.has_body:
            e["PanelistId"] = original.panelist
        if self.random.random() < 0.3:
            del e["PanelistId"]
        return True

    def add_amounts(self, e, content, app):
        r, kind = self.random, e["Type"]
        takes_reward = kind not in ("survey_started", "offer_clicked", "offer_completion_reversed")
        value = D(0)
        sign = -1 if kind == "ad_hoc" and app.negative and r.random() < 0.5 else 1
        if kind in ("survey_completed", "offer_completed") or (takes_reward and r.random() < 0.6):
            value, text = random_amount(r, 200)
            e["RevenueAmount"] = negated(text) if sign < 0 and value else text
            content["RevenueAmount"] = sign * value
        if kind == "ad_hoc" or (takes_reward and r.random() < 0.1):
            reward, text = random_amount(r, 1000)
            e["Reward"] = negated(text) if sign < 0 and reward else text
            content["Reward"] = sign * reward
        if sign < 0:
            e["Reason"] = content["Reason"] = "found in reconciliation"


