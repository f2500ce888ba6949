"""What a store must hold, worked out again in Python from the events that were sent to it.

Exact decimals, nothing of the daemon's: the sums of the five reports, the rows of the rewards feed.
"""
from collections import defaultdict
from decimal import ROUND_HALF_UP, Decimal

SURVEY_PAYING = ("survey_completed", "survey_disqualified", "profiler_completed", "ad_hoc")
FIELDS = {"earnings": ("Earnings",), "arpdau": ("Earnings", "ActivePanelists", "Arpdau"),
          "survey-attempts": ("SurveyAttempts",), "conversions": ("Conversions",),
          "active-panelist": ("ActivePanelists",)}


def amounts(event, originals, ratio, decimals=2):
    """(Reward, RevenueAmount) of one event; originals: EventId to event, for reversals."""
    if event["Type"] == "offer_completion_reversed":
        reward, revenue = amounts(originals[event["OriginalRewardId"]], originals, ratio, decimals)
        return -reward, -revenue
    if event["Type"] in ("survey_started", "offer_clicked"):
        return Decimal(0), Decimal(0)
    revenue = Decimal(event.get("RevenueAmount", "0"))
    if "Reward" in event:
        return Decimal(event["Reward"]), revenue
    if event["Type"] == "survey_disqualified":
        return Decimal(0), revenue  # books are kept for apps without a DisqualificationReward
    unit = Decimal(1).scaleb(-decimals)
    return (revenue * ratio).quantize(unit, ROUND_HALF_UP), revenue


class Line:
    def __init__(self):
        self.values = {"Earnings": Decimal(0), "SurveyAttempts": 0, "Conversions": 0}
        self.panelists = set()

    def row(self, fields):
        active = len(self.panelists)
        arpdau = None
        if active:
            arpdau = (self.values["Earnings"] / active).quantize(Decimal("0.000001"), ROUND_HALF_UP)
        said = dict(self.values, ActivePanelists=active, Arpdau=arpdau)
        return tuple(said[f] for f in fields)


def report_rows(events, originals, ratio, include_test=False):
    """{report: [(Day, ClientId, fields...)]} over these events, as the contract counts."""
    lines = defaultdict(Line)
    for e in events:
        if e.get("IsTest") and not include_test:
            continue
        line = lines[e["Timestamp"][:10], e["ClientId"]]
        reward, revenue = amounts(e, originals, ratio)
        line.values["Earnings"] += revenue
        if e["Type"] == "survey_started":
            line.values["SurveyAttempts"] += 1
            line.panelists.add(e["PanelistId"])
        elif reward > 0 and revenue > 0:
            line.values["Conversions"] += 1
    return {report: [key + lines[key].row(fields) for key in sorted(lines)]
            for report, fields in FIELDS.items()}
