"""Two `otchat connect` in one room: what each sees and hears of the other."""
import signal
import subprocess
import time

from otchat import LIMIT, both_ways, receives, subscriber

TEST_MEDIA = ("--video-source", "test", "--audio-source", "tone:440", "--audio-sink", "null")


def pair(connect, a=(), b=()):
    alice = connect("--name", "alice", *TEST_MEDIA, *a)
    bob = connect("--name", "bob", "--video-source", "test", "--audio-source", "tone:880", "--audio-sink", "null", *b)
    alice.event("subscriberConnected")
    bob.event("subscriberConnected")
    return alice, bob


def test_both_see_and_hear_the_other(connect):
    alice, bob = pair(connect)
    both_ways(alice, bob)
    for one in (alice, bob):
        stats = one.stats(lambda s: -17 < subscriber(s, "audio")["audioLevel"] < -13, "sound at its level")
        video = subscriber(stats, "video")
        assert (video["frameWidth"], video["frameHeight"]) == (640, 480)
        # The reception of a machine with too much to do may overflow.
        assert video["packetsLost"] <= 0.05 * video["packetsReceived"]
    connected, first = alice.event("sessionConnected"), bob.event("firstVideoFrame")
    assert connected["sessionId"] and connected["connectionId"]
    assert 0 < first["sinceStart"] < first["time"] - bob.started + 0.1


def test_the_test_pattern_measures_latency(connect):
    alice, bob = pair(connect)
    # At a good moment; on a busy machine others are worse.
    bob.stats(lambda s: 0 < subscriber(s, "video")["endToEndLatency"] < 250, "endToEndLatency")


def test_mute_is_seen_by_the_other_side(connect):
    alice, bob = pair(connect)
    stream = bob.event("streamCreated", name="alice")["streamId"]
    alice.command_line("mute-mic")
    alice.event("micChanged", value=False)
    muted = bob.event("streamPropertyChanged", streamId=stream, property="hasAudio", newValue=False)
    alice.command_line("unmute-mic")
    bob.event("streamPropertyChanged", after=muted, streamId=stream, property="hasAudio", newValue=True)
    alice.command_line("toggle-camera")
    dark = bob.event("streamPropertyChanged", streamId=stream, property="hasVideo", newValue=False)
    bob.event("videoDisabled", streamId=stream, reason="publishVideo")
    alice.command_line("toggle-camera")
    bob.event("streamPropertyChanged", after=dark, streamId=stream, property="hasVideo", newValue=True)
    bob.event("videoEnabled", streamId=stream, reason="publishVideo")


def test_swap_camera_keeps_the_stream(connect):
    alice, bob = pair(connect, a=("--video-source", "black"))
    before = receives(bob, alice, 30)
    alice.command_line("swap-camera")
    alice.event("cameraChanged")
    after = receives(bob, alice, 45)
    assert len(after["subscribers"]) == 1
    assert after["subscribers"][0]["streamId"] == before["subscribers"][0]["streamId"]
    assert not bob.all("streamDestroyed")


def test_chat_goes_both_ways_and_keeps_its_text(connect):
    alice, bob = pair(connect)
    alice.command_line("say grüß dich, \"bob\" 👋")
    got = bob.event("signal", type="chat", fromSelf=False)
    assert "grüß dich, \"bob\" 👋" in got["data"]
    alice.event("signal", type="chat", fromSelf=True)
    bob.command_line("signal poke some data")
    assert alice.event("signal", type="poke")["data"] == "some data"


def test_leaving_is_seen_and_the_next_stream_taken(connect):
    alice, bob = pair(connect)
    bob.command_line("quit")
    assert bob.exit_code() == 0
    gone = alice.event("streamDestroyed", name="bob")
    assert gone["reason"] == "clientDisconnected"
    alice.event("subscriberDestroyed")
    alice.event("connectionDestroyed", reason="clientDisconnected")
    carol = connect("--name", "carol", *TEST_MEDIA)
    carol.event("subscriberConnected")
    receives(alice, carol, 45)


def test_a_killed_participant_is_missed(binary, connect):
    alice, bob = pair(connect)
    bob.process.kill()
    gone = alice.event("streamDestroyed", name="bob")
    assert gone["reason"] == "networkDisconnected"


def test_interrupt_leaves_cleanly(connect):
    alice, bob = pair(connect)
    bob.process.send_signal(signal.SIGINT)
    assert bob.exit_code() == 130
    assert alice.event("streamDestroyed", name="bob")["reason"] == "clientDisconnected"
    alice.process.send_signal(signal.SIGTERM)
    assert alice.exit_code() == 143
    assert alice.all("sessionDisconnected")


def test_an_unknown_command_is_named(connect):
    alice = connect("--name", "alice", *TEST_MEDIA)
    alice.event("sessionConnected")
    alice.command_line("dance")
    assert "dance" in alice.event("error")["message"]


def test_duration_and_until(connect):
    alice = connect("--name", "alice", *TEST_MEDIA, "--duration", "2")
    assert alice.exit_code() == 0
    assert time.time() - alice.started >= 2
    bob = connect("--no-publish", "--until", "sessionConnected", "--audio-sink", "null")
    assert bob.exit_code() == 0


def test_server_going_away_is_told(connect, server):
    alice, bob = pair(connect)
    server.process.terminate()
    assert server.exit_code() == 0
    for one in (alice, bob):
        one.wait_until(lambda: one.all("sessionDisconnected") or one.all("sessionReconnecting"), "word of the server's end")


def test_a_wav_sink_holds_the_tone(connect, home):
    connect("--name", "alice", *TEST_MEDIA)
    bob = connect("--name", "bob", "--no-publish", "--audio-sink", "file:heard.wav")
    heard = bob.stats(lambda s: subscriber(s, "audio")["totalAudioEnergy"] > 0, "sound")
    bob.stats(lambda s: subscriber(s, "audio")["totalSamplesDuration"] > subscriber(heard, "audio")["totalSamplesDuration"] + 3,
              "three seconds more")
    bob.command_line("quit")
    assert bob.exit_code() == 0
    # The loudest frequency of the last two seconds, by ffmpeg's own spectrum: a narrow band keeps the level.
    level = {}
    for band in (440, 880):
        out = subprocess.run(
            ["ffmpeg", "-hide_banner", "-sseof", "-2", "-i", "heard.wav", "-af", f"bandpass=f={band}:width_type=h:w=40,volumedetect",
             "-f", "null", "-"], capture_output=True, text=True, timeout=LIMIT, check=True).stderr
        level[band] = float(out.split("mean_volume: ")[1].split(" dB")[0])
    assert level[440] > -30 and level[440] > level[880] + 20, level
