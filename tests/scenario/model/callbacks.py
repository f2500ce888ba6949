"""One callback as the contract describes it (section 4): its body, its state and its attempts."""
import json

from harness import sig
from model.money import printed

LANES = {"survey_completed": "success", "profiler_completed": "success", "ad_hoc": "success",
         "survey_disqualified": "failure", "offer_completed": "offer", "offer_clicked": "offer",
         "offer_completion_reversed": "offer"}
FINAL = ("delivered", "dead", "skipped")


class Erased:
    """The name that an erased panelist has got, which the daemon invents: learned when first seen."""

    def __init__(self):
        self.name = None

    def __str__(self):
        assert self.name, "nobody has seen this panelist's new name yet"
        return self.name


def is_erased(panelist):
    return isinstance(panelist, Erased)


class Callback:
    def __init__(self, event, app, at_text, reward, revenue, integration):
        self.id, self.kind, self.app = event["EventId"], event["Type"], app
        self.client, self.lane = event["ClientId"], LANES.get(event["Type"])
        self.panelist = event.get("PanelistId")
        self.at_text, self.reward, self.revenue = at_text, reward, revenue
        self.is_test = bool(event.get("IsTest"))
        self.session, self.mid = event.get("SessionId"), event.get("Mid")
        self.offer = {k: event.get(k) for k in ("OfferId", "OfferGoalId", "OfferTitle")}
        if self.offer["OfferGoalId"] is not None:
            self.offer["OfferGoalId"] = str(self.offer["OfferGoalId"])
        self.sends_mid = integration == "monetization_api"
        self.original = self.reversal = None
        self.state, self.reason = "pending", None
        self.attempts = []  # (status or None, URL)
        self.first_end = None  # how many tries it had had when it was final for the first time
        self.failed = 0  # tries of this run of the schedule
        self.is_held = False  # a reversal that waits for its original
        self.owes_try = False  # a resend of a delivered one
        self.has_body = True
        self.script = [200]
        self.traceparent = None  # of the request that posted it
        self.legacy, self.extended = app.settings["LegacyFields"], app.settings["ExtendedFields"]

    def take_from_original(self, original):
        self.original, original.reversal = original, self
        self.panelist, self.is_test = original.panelist, original.is_test
        self.session = original.session if original.has_body else None  # an erased one has none
        self.offer, self.reward, self.revenue = original.offer, -original.reward, -original.revenue

    def choose_lane(self):
        """Tests have the app's TestCallbackUrl, if there is one; what is reversed there, too."""
        follows = self.original and self.original.lane == "test"
        if self.lane and self.is_test and (follows or self.app.url["test"]):
            self.lane = "test"

    def answer(self, number):
        return self.script[min(number, len(self.script)) - 1]

    def is_final(self):
        return self.state in FINAL

    def end(self, state, reason=None):
        self.state, self.reason = state, reason
        if self.first_end is None:
            self.first_end = len(self.attempts)
        if self.reversal:
            self.reversal.is_held = False

    def reward_text(self):
        return printed(self.reward, min(2, self.app.decimals))

    def run(self, tries):
        """Tries it until it is final; a delivered one once."""
        while True:
            status = self.answer(len(self.attempts) + 1)
            self.attempts.append((status, self.app.url[self.lane]))
            if self.owes_try:
                self.owes_try = False
                return
            self.failed += 1
            if status == 200:
                self.end("delivered")
            elif status == 410:
                self.end("dead", "gone")
            elif status in self.app.final_statuses:
                self.end("dead", "final_status")
            elif self.failed == tries:
                self.end("dead", "attempts")
            if self.is_final():
                return

    def body(self, panelist=None):
        """The very bytes; of what was sent before an erasure: with the panelist of then."""
        panelist = str(panelist or self.panelist)
        signature = sig(panelist, self.id, self.app.secret)
        fields = self.offer_fields(panelist) if LANES[self.kind] == "offer" else self.survey_fields(panelist, signature)
        return "{" + ",".join('"%s":%s' % pair for pair in [("Sig", text(signature))] + fields) + "}"

    def offer_fields(self, panelist):
        fields = [(name, text(value)) for name, value in self.offer.items()]
        fields += self.common_fields(panelist)
        fields += [("RevenueAmount", printed(self.revenue))]
        fields += [("SessionId", text(self.session))] if self.session is not None else []
        fields += [("ClientId", text(self.client)), ("Timestamp", text(self.at_text))]
        fields += [("OriginalRewardId", text(self.original.id))] if self.original else []
        return fields + ([("IsTest", "true")] if self.is_test else [])

    def survey_fields(self, panelist, signature):
        fields = self.common_fields(panelist)
        if self.session is not None and not self.sends_mid:
            fields.append(("SessionId", text(self.session)))
        if self.mid is not None and self.sends_mid:
            fields.append(("Mid", text(self.mid)))
        fields += [("RevenueAmount", printed(self.revenue)), ("IsTest", "true" if self.is_test else "false")]
        if self.legacy:
            fields += [("Signature", text(signature)), ("UniqueSurveyId", text(self.id))]
        if self.extended:
            fields += [("ClientId", text(self.client)), ("Timestamp", text(self.at_text))]
        return fields

    def common_fields(self, panelist):
        return [("PanelistId", text(panelist)), ("RewardType", text(self.kind)), ("RewardId", text(self.id)),
                ("Reward", self.reward_text())]


def text(value):
    return json.dumps(value, ensure_ascii=False)
