"""Passwords of users with one Email whose salts differ, as those from before it was shared: a sign-in shares it."""
import json
from concurrent.futures import ThreadPoolExecutor

from inside import change, rows
from people import PASSWORD, Browser, codes, enrol, partner, person

NEW = "another password entirely"


def salt_of(daemon, email, at):
    kept = rows(daemon, "SELECT document FROM object WHERE document LIKE '%argon2id%'")
    documents = sorted((json.loads(row[0]) for row in kept), key=lambda d: d["UserNo"])
    return [d["Password"].split("$")[-2] for d in documents if d["Email"] == email][at]


def test_salts_of_before_are_shared_after_a_sign_in(own_daemon):
    own_daemon.start()
    first, second = person(own_daemon, "owner", partner(own_daemon)), person(own_daemon, "owner", partner(own_daemon))
    _, recovery = enrol(second)
    assert second.post("/api/v1/session/password", {"Password": PASSWORD, "NewPassword": NEW}).status == 200
    own_daemon.stop()
    assert change(own_daemon, "UPDATE object SET document=replace(document,'%s','%s') WHERE id='%s'"
                  % (second.email, first.email, second.user_id)) == 1
    before = [salt_of(own_daemon, first.email, at) for at in (0, 1)]
    assert before[0] != before[1]
    own_daemon.start()
    b = Browser(own_daemon)
    assert b.sign_in(first.email).json["User"]["UserId"] == first.user_id
    assert b.sign_in(first.email, NEW).status == 401  # the code is missing
    for code in recovery[:2]:  # the second time by the new hash
        assert b.sign_in(first.email, NEW, code).json["User"]["UserId"] == second.user_id
    own_daemon.stop()
    assert [salt_of(own_daemon, first.email, at) for at in (0, 1)] == [before[0]] * 2
    own_daemon.start()
    assert b.sign_in(first.email).json["User"]["UserId"] == first.user_id
    assert codes(b.sign_in(first.email, NEW)) == {("Code", "required")}


def test_sign_ins_at_once_share_the_salt_and_all_succeed(own_daemon):
    """The one that stores the password anew does not make the others' wrong."""
    own_daemon.start()
    first, second = person(own_daemon, "owner", partner(own_daemon)), person(own_daemon, "owner", partner(own_daemon))
    assert second.post("/api/v1/session/password", {"Password": PASSWORD, "NewPassword": NEW}).status == 200
    own_daemon.stop()
    assert change(own_daemon, "UPDATE object SET document=replace(document,'%s','%s') WHERE id='%s'"
                  % (second.email, first.email, second.user_id)) == 1
    own_daemon.start()
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: Browser(own_daemon).sign_in(first.email, NEW).status, range(6)))
    assert found == [200] * 6, found
