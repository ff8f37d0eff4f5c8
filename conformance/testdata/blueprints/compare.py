#!/usr/bin/env python3
"""A command that starts sessions of another agent, by plain HTTP with the token that it was given, and tries what that token must not do."""

import json
import os
import sys
import urllib.error
import urllib.request

HTTP = "http" + os.environ["PARLEY_URL"].removeprefix("ws").removesuffix("/rpc")


def call(method, path, body=None):
    request = urllib.request.Request(HTTP + path, method=method, data=None if body is None else json.dumps(body).encode())
    request.add_header("Authorization", "Bearer " + os.environ["PARLEY_TOKEN"])
    request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refusal:
        return refusal.code, json.load(refusal)


def rows(side, text):
    status, session = call("POST", "/sessions", {"agentName": "csv-profile", "parameters": {"text": text}, "clientRequestId": side})
    while status < 300 and session.get("timedOut"):
        status, session = call("GET", "/sessions/" + session["sessionId"] + "?timeoutMs=60000")
    if status >= 300 or session["status"] != "completed":
        sys.exit(f"{side}: {status} {json.dumps(session)}")
    print(f"{side} was looked at", file=sys.stderr, flush=True)
    return session["result"]["result_data"]["rows"]


def main():
    parameters = json.load(sys.stdin)
    told = {side: rows(side, parameters[side]) for side in ("left", "right")}
    stranger = {
        "write": call("POST", f"/conversations/{os.environ['PARLEY_SESSION']}/messages", {"payload": {"text": "I am not asked"}})[0],
        "list": call("GET", "/conversations")[0],
        "detach": call("POST", "/sessions", {"agentName": "csv-profile", "parameters": {"text": ""}, "mode": "async_poll"})[0],
        "token": call("POST", "/tokens", {"agentId": "ann"})[0],
    }
    json.dump({"rows": told, "stranger": stranger}, sys.stdout)


main()
