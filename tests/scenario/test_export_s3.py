"""postbackd export to an S3-compatible service: signed, in parts, and continued where it was killed."""
import json
import subprocess
import time

import pytest

from harness import Account, eventually
from s3 import LOST, S3, signature
from test_export import FIRST, LAST, command, environment, export

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.mark.parametrize("method,path,query,headers,payload_hash,wanted", [
    ("GET", "/test.txt", "", {"range": "bytes=0-9"}, EMPTY,
     "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
    ("PUT", "/test%24file.text", "", {"date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"},
     "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
     "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
    ("GET", "/", "lifecycle", {}, EMPTY, "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
    ("GET", "/", "max-keys=2&prefix=J", {}, EMPTY, "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
])
def test_the_checker_knows_what_amazon_published(method, path, query, headers, payload_hash, wanted):
    """The examples of "Signature Calculations for the Authorization Header"."""
    when = "20130524T000000Z"
    headers = {**headers, "host": "examplebucket.s3.amazonaws.com", "x-amz-content-sha256": payload_hash, "x-amz-date": when}
    assert signature("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "20130524/us-east-1/s3/aws4_request", when, method, path,
                     query, headers, sorted(headers), payload_hash) == wanted


@pytest.fixture(scope="module")
def account(daemon):
    """With rewards of two parts on the first day."""
    a = Account(daemon)
    for start in range(0, 30000, 10000):
        daemon.api().events([a.event("r-%d" % i, PanelistId="p" * 200, IsTest=True, Timestamp=FIRST + "T12:00:00Z")
                             for i in range(start, start + 10000)])
    return a


@pytest.fixture
def s3():
    s = S3()
    yield s
    s.close()


def test_small_and_empty_ones_are_one_object(daemon, account, s3):
    for words, count in ((("--end-date", LAST, "--start-date", LAST), 0), (("--app", account.app_id), 30000)):
        run = export(daemon, "statements" if count else "rewards", "s3://bucket/day=1/a b.ndjson", "--partner",
                     account.partner_id, *words, **s3.env)
        assert run.returncode == 0, (run, s3.wrong)
        assert [m for m, _, _ in s3.requests] == ["GET", "PUT"] and s3.wrong == []
        assert list(s3.objects) == ["/bucket/day%3D1/a%20b.ndjson"]
        s3.requests.clear()


@pytest.mark.parametrize("kind", ["rewards", "events"])
def test_a_killed_run_goes_on_with_the_same_upload(daemon, account, s3, kind):
    words = (kind, "--format", "csv", "--partner", account.partner_id)
    whole = export(daemon, *words)
    assert whole.returncode == 0 and len(whole.stdout) > 6 << 20
    words += ("s3://bucket/all.csv",)
    env = dict(s3.env, AWS_SESSION_TOKEN="token/of+a=session")
    run = subprocess.Popen(command(daemon, *words), env=environment(**env), stderr=subprocess.DEVNULL)
    eventually(lambda: "/bucket/all.csv.part.state" in s3.objects, 120)
    run.kill()
    run.wait(60)
    assert "/bucket/all.csv" not in s3.objects
    state = json.loads(s3.objects["/bucket/all.csv.part.state"])
    other = export(daemon, kind, "--partner", account.partner_id, "s3://bucket/all.csv", **env)
    assert other.returncode == 1 and "another export" in other.stderr
    parts_before = sum(1 for _, _, q in s3.requests if "partNumber=1&" in q)
    again = export(daemon, *words, **env)
    assert again.returncode == 0, (again, s3.wrong)
    assert s3.objects == {"/bucket/all.csv": whole.stdout.replace("\n", "\r\n").encode()} and s3.uploads == {}
    assert state["Rows"] > 0 and parts_before == sum(1 for _, _, q in s3.requests if "partNumber=1&" in q)
    assert s3.wrong == []


def test_a_state_of_an_upload_that_is_over_begins_anew(daemon, account, s3):
    refused = []
    s3.answer = lambda method, path, query: 403 if method == "DELETE" and not refused.append(path) else None
    words = ("rewards", "--partner", account.partner_id, "s3://bucket/over")
    run = export(daemon, *words, **s3.env)
    assert run.returncode == 1 and "its state cannot be deleted: 403" in run.stderr and refused
    whole = s3.objects.pop("/bucket/over")
    s3.answer = lambda method, path, query: None
    assert export(daemon, *words, **s3.env).returncode == 0
    assert s3.objects == {"/bucket/over": whole}


def test_what_passes_is_tried_again(daemon, account, s3):
    begun = time.monotonic()
    s3.answer = lambda method, path, query: 503 if len(s3.requests) % 2 else None
    run = export(daemon, "statements", "--partner", account.partner_id, "s3://bucket/tried", **s3.env)
    assert run.returncode == 0 and time.monotonic() - begun >= 1 and list(s3.objects) == ["/bucket/tried"]


def completing(s3, answers):
    """The requests that join an upload's parts get these answers, one after the other, and then those of S3."""
    def answer(method, path, query):
        return answers.pop(0) if answers and method == "POST" and query.startswith("uploadId=") else None
    s3.answer = answer


@pytest.mark.parametrize("answers", [[LOST], [200], [500, LOST], [200, 200, LOST]])
def test_parts_are_joined_though_the_answer_is_an_error_or_lost(daemon, account, s3, answers):
    """An error may come with 200, as the answer begins before the parts are joined."""
    words = ("rewards", "--partner", account.partner_id)
    completing(s3, answers)
    run = export(daemon, *words, "s3://bucket/whole", **s3.env)
    assert run.returncode == 0 and s3.wrong == [] and answers == [], run
    assert s3.objects == {"/bucket/whole": export(daemon, *words).stdout.encode()} and s3.uploads == {}


def drop_uploads(s3, body, etag):
    s3.objects["/bucket/other"], s3.etags["/bucket/other"] = body, etag
    s3.uploads.clear()
    return None


@pytest.mark.parametrize("make", [
    lambda whole: (b"", '"d41d8cd98f00b204e9800998ecf8427e"'),
    lambda whole: (b"x" * len(whole), '"0f343b0931126a20f133d67c2b018a3b-2"'),
])
def test_another_object_is_not_taken_for_the_joined_parts(daemon, account, s3, make):
    """Somebody has aborted the upload, and an older object stands there."""
    words = ("rewards", "--partner", account.partner_id)
    older = make(export(daemon, *words).stdout)
    s3.answer = lambda method, path, query: (
        drop_uploads(s3, *older) if method == "POST" and query.startswith("uploadId=") else None)
    run = export(daemon, *words, "s3://bucket/other", **s3.env)
    assert run.returncode == 1 and "its parts cannot be joined: 404 <Error><Code>NoSuchUpload" in run.stderr, run


@pytest.mark.parametrize("url,env,status,words", [
    ("s3://bucket", {}, 1, "s3://BUCKET/KEY"),
    ("s3:///key", {}, 1, "s3://BUCKET/KEY"),
    ("s3://bucket/key", {"AWS_ACCESS_KEY_ID": ""}, 1, "AWS_ACCESS_KEY_ID"),
    ("s3://bucket/key", {"AWS_SECRET_ACCESS_KEY": "wrong"}, 1, "SignatureDoesNotMatch"),
    ("s3://bucket/key", {"AWS_REGION": "other"}, 1, "WrongScope"),
])
def test_what_cannot_be_is_said(daemon, account, s3, url, env, status, words):
    run = export(daemon, "statements", "--partner", account.partner_id, url, **{**s3.env, **env})
    assert run.returncode == status and words in run.stderr and not s3.objects
    assert len(run.stderr.splitlines()) == 1
