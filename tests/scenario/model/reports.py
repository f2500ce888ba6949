"""The rows of the five reports (contract, 5), computed from the events alone."""
import threading
from collections import defaultdict

from model.money import D, half_away, printed

REPORTS = {
    "earnings": ["Earnings"],
    "arpdau": ["Earnings", "ActivePanelists", "Arpdau"],
    "survey-attempts": ["SurveyAttempts"],
    "conversions": ["Conversions"],
    "active-panelist": ["ActivePanelists"],
}


class Cell:
    def __init__(self):
        self.money = {"survey": D(0), "offer": D(0)}
        self.conversions = {"survey": 0, "offer": 0}
        self.attempts = 0
        self.panelists = set()


class Books:
    """Rows by (day, client), with and without test events."""

    def __init__(self):
        self.cells = {False: defaultdict(Cell), True: defaultdict(Cell)}
        self.lock = threading.Lock()

    def add(self, e, at, revenue, reward, is_test):
        product = "offer" if e["Type"].startswith("offer_") else "survey"
        with self.lock:
            for with_tests in (False, True):
                if is_test and not with_tests:
                    continue
                cell = self.cells[with_tests][at.date().isoformat(), e["ClientId"]]
                cell.money[product] += revenue
                cell.conversions[product] += reward > 0 and revenue > 0
                if e["Type"] == "survey_started":
                    cell.attempts += 1
                    cell.panelists.add(e["PanelistId"])

    def rename(self, panelist, name):
        """An erased panelist stays counted; who starts later under the same id is somebody new."""
        for cells in self.cells.values():
            for cell in cells.values():
                if panelist in cell.panelists:
                    cell.panelists.remove(panelist)
                    cell.panelists.add(name)

    def rows(self, report, start, end, clients, product=None, with_tests=False):
        products = [product] if product else ["survey", "offer"]
        rows = []
        for (day, client), cell in sorted(self.cells[with_tests].items()):
            if not start <= day <= end or client not in clients:
                continue
            money, active = sum(cell.money[p] for p in products), len(cell.panelists)
            row = {"Day": day, "ClientId": client}
            for field in REPORTS[report]:
                row[field] = {
                    "Earnings": printed(money),
                    "ActivePanelists": str(active),
                    "Arpdau": printed(half_away(money / active, 6)) if active else None,
                    "SurveyAttempts": str(cell.attempts),
                    "Conversions": str(sum(cell.conversions[p] for p in products)),
                }[field]
            rows.append(row)
        return rows
