"""Who gets an answer: the page with its token, from this machine, and nobody else."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from pathlib import Path

import pytest

websockets = pytest.importorskip("websockets.sync.client", reason="the extra 'studio' is not installed")


def asked(address: str, host: str = "") -> tuple[int, str]:
    """Status and text of what a GET gives."""
    request = urllib.request.Request(address, headers={"Host": host} if host else {})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def dialled(address: str, origin: str | None):
    return websockets.connect(address.replace("http", "ws") + "socket", origin=origin, open_timeout=30)


def own_origin(address: str) -> str:
    return address.split("/", 3)[0] + "//" + address.split("/")[2]


def test_without_the_token_there_is_no_answer(studio):
    base = own_origin(studio)
    for path in ("/", "/index.html", "/main.js", "/wrong-token/", "/wrong-token/main.js", "/../" + studio.split("/")[3]):
        status, text = asked(base + path)
        assert status == 403 and "token" in text and "<html" not in text
    assert asked(studio)[0] == 200


def test_another_name_of_this_machine_is_refused(studio):
    assert asked(studio, host="evil.example:80")[0] == 403  # a name that somebody points at 127.0.0.1


def test_only_the_page_itself_may_connect(studio):
    for origin in ("http://evil.example", "https://127.0.0.1", "null", None):
        with pytest.raises(Exception, match=r"403|rejected"), dialled(studio, origin):
            pass
    with pytest.raises(Exception, match=r"403|rejected"), dialled(own_origin(studio) + "/wrong-token/", own_origin(studio)):
        pass
    with dialled(studio, own_origin(studio)) as socket:
        socket.send(json.dumps({"id": 1, "kind": "files"}))
        bundled = json.loads(socket.recv(timeout=30))["data"]["bundled"]
        assert "one_dof/identify" in [entry["name"] for entry in bundled]


def test_it_listens_on_the_loopback_alone(studio):
    port = int(studio.split(":")[2].split("/")[0])
    if not os.path.exists("/proc/net/tcp"):
        pytest.skip("no list of open ports on this machine")
    lines = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    listening = {row[1] for row in lines if row[3] == "0A" and int(row[1].split(":")[1], 16) == port}
    assert listening == {f"0100007F:{port:04X}"}


def test_what_nobody_answers_and_what_breaks_is_said_in_words(studio):
    with dialled(studio, own_origin(studio)) as socket:

        def ask(**request):
            socket.send(json.dumps(request))
            return json.loads(socket.recv(timeout=60))["data"]

        assert "nothing answers 'bench.rum'" in ask(id=1, kind="bench.rum")["error"]["text"]
        assert "no file is open" in ask(id=2, kind="bench.run")["error"]["text"]
        assert "there is no file 'nowhere'" in ask(id=3, kind="open", name="nowhere")["error"]["text"]
        opened = ask(id=4, kind="open", name="one_dof/identify")
        assert opened["runnable"] and 'data-block="encoder"' in opened["svg"]
        refusal = ask(id=5, kind="bench.run", changes={"encoder.noise_std": -1})["error"]
        assert refusal["problems"][0]["block"] == "encoder" and "at least 0" in refusal["text"]


def test_a_strangers_diagram_runs_nothing_of_theirs(studio, tmp_path):
    """What the loader refuses the studio refuses: tags, files outside the folder."""
    marker = tmp_path / "marker"
    bad = tmp_path / "bad.yaml"
    bad.write_text(f"format: 1\nblocks:\n  a: !!python/object/apply:os.system ['touch {marker}']\n")
    outside = tmp_path / "outside.yaml"
    outside.write_text("format: 1\nblocks:\n  a: {type: ../../etc/passwd.yaml}\n")
    with dialled(studio, own_origin(studio)) as socket:
        for number, path in enumerate((bad, outside)):
            socket.send(json.dumps({"id": number, "kind": "open", "name": str(path)}))
            data = json.loads(socket.recv(timeout=60))["data"]
            assert data["problems"] and not data.get("runnable")
    assert not marker.exists()
