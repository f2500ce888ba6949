"""What an app's settings make of an event's amounts: the reward rules and the cap (contract, 2)."""
from collections import defaultdict
from datetime import timedelta

from model.money import D, half_away

DAY = timedelta(days=1)


class Terms:
    def __init__(self, account, currency, decimals, fee, cap, negative):
        self.account, self.currency, self.decimals = account, D(currency), decimals
        self.fee, self.cap, self.negative = D(fee), cap, negative
        self.paid = defaultdict(list)  # times of the disqualifications that were paid, by panelist
        self.originals = {}
        self.reversed = set()

    def reward(self, e, at, revenue):
        if "Reward" in e:
            return D(str(e["Reward"]).strip('"'))
        if e["Type"] == "survey_disqualified":
            return self.disqualification(e, at)
        return half_away(revenue * self.currency, self.decimals)

    def disqualification(self, e, at):
        if e.get("IsTest"):
            return self.fee
        times = self.paid[e["PanelistId"]] + [at]
        if any(start <= at < start + DAY and sum(start <= t < start + DAY for t in times) > self.cap
               for start in times):
            return D(0)
        self.paid[e["PanelistId"]] = times
        return self.fee
