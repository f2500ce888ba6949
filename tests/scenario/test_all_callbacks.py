"""The log over all partners: what an operator gets who names none."""
import pytest

from checks import DEAD_URL, all_pages, assert_problem
from harness import Account, eventually
from people import person
from schema import check_fits

LOG = "/api/v1/callbacks"


def log(daemon, limit, **query):
    """All rows of the first group of partners, and how many pages they took."""
    rows, pages, after = [], 0, {}
    while True:
        answer = daemon.api().get(LOG, query=dict(query, limit=limit, **after))
        assert answer.status == 200, answer
        assert set(answer.json) == {"Items", "Next", "NextPartners", "PartnersRead", "PartnersAway"}
        assert len(answer.json["Items"]) <= limit
        rows += answer.json["Items"]
        pages += 1
        if answer.json["Next"] is None:
            return rows, pages
        after = {"after": answer.json["Next"]}
        assert pages < 1000


def names(rows):
    return [(row["PartnerId"], row["RewardId"]) for row in rows]


def test_it_is_the_logs_of_all_partners_merged_by_acceptance(own_daemon):
    d = own_daemon
    d.schedule = "600s"
    d.start()
    a, b, nothing = Account(d), Account(d), Account(d)
    for n in range(4):
        d.api().events([a.event("a-%d" % n), b.event("b-%d" % n)])
    # accepted in the same millisecond, and more than are read of a partner at a time
    d.api().events([b.event("at-once-%d" % n, PanelistId="pan-7") for n in range(120)])
    d.api().events([b.event("last")])  # of one millisecond, the newer partner's come first
    own = {x.partner_id: all_pages(d.api(), LOG, 500, partnerId=x.partner_id)[0] for x in (a, b)}
    for limit in (1, 7, 50, 500):
        rows, pages = log(d, limit)
        assert [r["CreatedAt"] for r in rows] == sorted((r["CreatedAt"] for r in rows), reverse=True)
        for x in (a, b):
            assert [r["RewardId"] for r in rows if r["PartnerId"] == x.partner_id] == \
                [r["RewardId"] for r in own[x.partner_id]], "as in its own log, nothing twice"
        assert len(rows) == 129 and (limit > 1 or pages >= 129)
    page = d.api().get(LOG).json
    assert names(page["Items"])[0] == (b.partner_id, "last") and len(page["Items"]) == 50
    assert (page["PartnersRead"], page["PartnersAway"], page["NextPartners"]) == (3, 0, None)
    assert "Url" not in page["Items"][0] and "Body" not in page["Items"][0]
    document = d.api(None).get("/openapi.json").json
    check_fits(page, document["components"]["schemas"]["CallbackList"], document)


def test_filters_hold_for_all_of_them(own_daemon):
    d = own_daemon
    d.schedule = "600s"
    d.start()
    a, b = Account(d, DEAD_URL), Account(d, SuccessCallbackUrl=DEAD_URL)
    d.api().events([a.event("a-1", PanelistId="pan-7"), b.event("b-1"), b.event("same"), a.event("same")])
    d.api().events([b.event("b-2", "offer_clicked", PanelistId="pan-7")])

    def found(**query):
        return names(log(d, 2, **query)[0])

    same = [(b.partner_id, "same"), (a.partner_id, "same")]
    everything = sorted([(b.partner_id, "b-2"), (b.partner_id, "b-1"), (a.partner_id, "a-1")] + same)
    assert sorted(found()) == everything
    assert sorted(found(rewardId="same")) == sorted(same) and found(rewardId="no-such") == []
    assert found(panelistId="pan-7") == [(b.partner_id, "b-2"), (a.partner_id, "a-1")]
    assert found(state="skipped") == found(rewardType="offer_clicked") == [(b.partner_id, "b-2")]
    assert sorted(found(appId=a.app_id)) == sorted([(a.partner_id, "a-1"), (a.partner_id, "same")])
    eventually(lambda: {p for p, _ in found(**{"class": "refused"})} == {a.partner_id, b.partner_id}, 60)
    assert found(status=404) == []
    assert {p for p, _ in found(state="failing", appId=b.app_id)} == {b.partner_id}
    first = d.api().get(LOG, query={"rewardId": "b-2"}).json["Items"][0]
    assert found(**{"from": first["CreatedAt"]})[0] == (b.partner_id, "b-2")
    assert sorted(found(to=first["CreatedAt"]) + found(**{"from": first["CreatedAt"]})) == everything


def test_what_is_wrong_is_said_and_partners_see_their_own(daemon):
    a, b = Account(daemon), Account(daemon)
    daemon.api().events([a.event("mine"), b.event("theirs")])
    for query, name in (("format=csv", "format"), ("bodies=true", "bodies"), ("after=x", "after"), ("limit=501", "limit"),
                        ("state=x", "state"), ("partner=x", "partner"),
                        ("from=2026-11-20T12:00:00Z&to=2026-11-20T11:00:00Z", "from")):
        assert_problem(daemon.api().get(LOG + "?" + query), 400, name)
    own = daemon.api().get(LOG, query={"partnerId": a.partner_id, "limit": 1}).json
    assert_problem(daemon.api().get(LOG, query={"appId": "no-such"}), 404)
    partner = daemon.api(a.key("callbacks:read"))
    assert [row["RewardId"] for row in partner.get(LOG).json["Items"]] == ["mine"]
    assert "PartnerId" not in partner.get(LOG).json["Items"][0] and "PartnerId" not in own["Items"][0]
    after = daemon.api().get(LOG, query={"limit": 1}).json["Next"]
    assert_problem(partner.get(LOG, query={"after": after}), 400, "after")
    assert_problem(partner.get(LOG, query={"appId": b.app_id}), 404)


@pytest.mark.parametrize("role", ["admin", "support"])
def test_operators_read_it_by_their_role(daemon, role):
    a = Account(daemon)
    daemon.api().events([a.event("for-" + role)])
    rows = person(daemon, role).get(LOG, query={"rewardId": "for-" + role}).json["Items"]
    assert names(rows) == [(a.partner_id, "for-" + role)]


def test_a_group_of_200_partners_is_read_and_leads_on(own_daemon):
    d = own_daemon.start()
    oldest, newest = Account(d), None
    d.api().events([oldest.event("far-%d" % n) for n in range(3)])
    for i in range(199):
        assert d.api().post("/api/v1/partners", {"PartnerId": "many-%d" % i}).status == 201
    newest = Account(d)
    d.api().events([newest.event("near-%d" % n) for n in range(3)])
    first = d.api().get(LOG, query={"limit": 2}).json
    assert names(first["Items"]) == [(newest.partner_id, "near-2"), (newest.partner_id, "near-1")]
    assert first["PartnersRead"] == 200 and first["NextPartners"]
    Account(d)  # a partner that is made meanwhile pushes no other out of its group
    second = d.api().get(LOG, query={"limit": 2, "after": first["Next"]}).json
    assert (names(second["Items"]), second["PartnersRead"]) == ([(newest.partner_id, "near-0")], 200)
    assert second["Next"] is None and second["NextPartners"] == first["NextPartners"]
    rest = d.api().get(LOG, query={"after": first["NextPartners"]}).json
    assert names(rest["Items"]) == [(oldest.partner_id, "far-%d" % n) for n in (2, 1, 0)]
    assert (rest["Next"], rest["NextPartners"], rest["PartnersRead"]) == (None, None, 1)
