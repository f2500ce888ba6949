"""An operator's search: an id is found in whichever account has it, and partners are refused."""
from harness import Account


def search(daemon, text):
    found, after = [], {}
    while True:
        answer = daemon.api().get("/api/v1/search", query=dict({"text": text}, **after))
        assert answer.status == 200, answer
        found += [(i["Kind"], i["PartnerId"], i["Id"]) for i in answer.json["Items"]]
        if answer.json["Next"] is None:
            return found
        after = {"after": answer.json["Next"]}


def test_an_id_is_found_in_whichever_account_has_it(daemon):
    a, b = Account(daemon), Account(daemon)
    daemon.api().events([a.event("find-" + a.app_id, PanelistId="find-me-ü"), b.event("find-" + b.app_id),
                         b.event("find-me-2", PanelistId="find-me-ü"), b.event("same-" + a.app_id),
                         a.event("same-" + a.app_id)])
    assert search(daemon, a.partner_id) == [("partner", a.partner_id, a.partner_id)]
    assert search(daemon, b.app_id) == [("app", b.partner_id, b.app_id)]
    assert search(daemon, a.clients[0]) == [("client", a.partner_id, a.clients[0])]
    assert search(daemon, "find-" + a.app_id) == [("callback", a.partner_id, "find-" + a.app_id)]
    assert sorted(search(daemon, "same-" + a.app_id)) == sorted(
        ("callback", x.partner_id, "same-" + a.app_id) for x in (a, b)), "ids are unique by account"
    assert sorted(search(daemon, "find-me-ü")) == sorted(
        ("panelist", x.partner_id, "find-me-ü") for x in (a, b))
    email = "find-me@%s.example" % a.app_id.replace("_", "-")
    made = daemon.api().post("/api/v1/users", {"Email": email, "Role": "owner"}, query={"partnerId": a.partner_id})
    assert made.status == 201, made
    user_id = made.headers["Location"].rsplit("/", 1)[1]
    assert search(daemon, email.upper()) == [("user", a.partner_id, user_id)]
    assert search(daemon, "find-m") == [] and search(daemon, "no/such id") == []
    daemon.api().post("/api/v1/panelists/erase", {"PanelistId": "find-me-ü"}, query={"partnerId": a.partner_id})
    assert search(daemon, "find-me-ü") == [("panelist", b.partner_id, "find-me-ü")]


def test_what_is_wrong_is_said_and_partners_are_refused(daemon):
    a = Account(daemon)
    for query in ({}, {"text": ""}, {"text": "x", "after": "y"}, {"text": "x", "partner": "y"}):
        assert daemon.api().get("/api/v1/search", query=query).status == 400, query
    key = daemon.api().post("/api/v1/partners/%s/keys" % a.partner_id, {"Scopes": ["callbacks:read"]}).json["Key"]
    assert daemon.api(key).get("/api/v1/search", query={"text": a.partner_id}).status == 403


def test_an_answer_goes_through_200_partners_and_leads_on(own_daemon):
    d = own_daemon.start()
    oldest = Account(d)
    d.api().events(oldest.event("find-far"))
    for i in range(200):
        assert d.api().post("/api/v1/partners", {"PartnerId": "many-%d" % i}).status == 201
    answer = d.api().get("/api/v1/search", query={"text": "find-far"}).json
    assert answer["Items"] == [] and answer["Next"]
    assert search(d, "find-far") == [("callback", oldest.partner_id, "find-far")]
    assert search(d, "many-7") == [("partner", "many-7", "many-7")], "what is in memory is found once"
