"""Moderation by lines on standard input: what a script does to the others, and what it hears of it."""


def join(connect, server, name, role):
    credentials = server.get(f"/session?role={role}")
    return connect("--name", name, "--session-id", credentials["sessionId"], "--api-key", credentials["apiKey"], "--token",
                   credentials["token"], "--api-url", server.url, "--video-source", "test", "--audio-source", "silence",
                   "--subscribe", "none")


def test_lines_of_a_moderator(connect, server):
    moderator, bob, carol = (join(connect, server, name, role) for name, role in
                             (("ada", "moderator"), ("bob", "publisher"), ("carol", "publisher")))
    streams = {one: one.event("publisherStreamCreated")["streamId"] for one in (moderator, bob, carol)}
    for name in ("bob", "carol"):
        moderator.event("streamCreated", name=name)
    moderator.command_line("participants")
    listed = moderator.event("participants")["participants"]
    assert sorted((p["own"], [s["name"] for s in p["streams"]]) for p in listed) == [(False, ["bob"]), (False, ["carol"]), (True, ["ada"])]
    assert {p["connectionId"] for p in listed} == {one.event("sessionConnected")["connectionId"] for one in streams}

    moderator.command_line("mute bob")
    bob.event("publisherMuted", streamId=streams[bob])
    moderator.event("streamPropertyChanged", streamId=streams[bob], property="hasAudio", newValue=False)
    moderator.command_line("mute-all except ada")
    carol.event("publisherMuted", streamId=streams[carol])
    forced = carol.event("muteForced", active=True)
    late = join(connect, server, "late", "publisher")
    moderator.event("streamCreated", name="late", hasAudio=False)
    assert not moderator.all("publisherMuted")
    moderator.command_line("lift-mute")
    carol.event("muteForced", active=False, after=forced)
    free = join(connect, server, "free", "publisher")
    moderator.event("streamCreated", name="free", hasAudio=True)

    # Without the right to, the server says no; nothing happens.
    for line, code in (("mute bob", 1540), ("unpublish bob", 1530), ("disconnect bob", 1520), ("mute-all", 1540), ("lift-mute", 1540)):
        seen = len(carol.all("error"))
        carol.command_line(line)
        carol.wait_until(lambda: len(carol.all("error")) > seen, f"a refusal of {line}")
        assert carol.all("error")[-1]["code"] == code, carol.all("error")[-1]

    moderator.command_line("unpublish late")
    late.event("publisherStreamDestroyed", reason="forceUnpublished")
    bob.event("streamDestroyed", name="late", reason="forceUnpublished")
    # By an id, too; and nobody who is not there.
    moderator.command_line("disconnect " + free.event("sessionConnected")["connectionId"])
    free.event("sessionDisconnected", reason="forceDisconnected")
    assert free.exit_code() == 77
    moderator.command_line("disconnect bob")
    bob.event("sessionDisconnected", reason="forceDisconnected")
    carol.event("connectionDestroyed", reason="forceDisconnected")
    moderator.command_line("mute nobody")
    assert "nobody else here is called 'nobody'" in moderator.event("error")["message"]
    assert not moderator.all("sessionDisconnected") and not carol.all("sessionDisconnected")
