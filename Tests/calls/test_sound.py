"""Microphone and loudspeaker through ALSA: what goes in at one end is heard at the other."""
import array
import math
import random
import wave

import pytest
from otchat import subscriber
from sound_room import SoundRoom, level, level_at, tone


@pytest.fixture
def room(tmp_path_factory):
    # A socket's path is short.
    room = SoundRoom(tmp_path_factory.mktemp("room"))
    yield room
    room.close()


def test_a_tone_goes_through_microphone_and_loudspeaker(connect, room):
    room.play(tone(440, 120))
    alice = connect("--name", "alice", "--video-source", "none", "--no-aec", environment=room.environment)
    bob = connect("--name", "bob", "--video-source", "none", "--audio-source", "tone:660", "--audio-sink", "null")
    bob.event("subscriberConnected")
    # The microphone's tone at the other side, at its level: 0.25 is -15 dB.
    bob.stats(lambda s: abs(subscriber(s, "audio")["toneHz"] - 440) < 2 and -17 < subscriber(s, "audio")["audioLevel"] < -13,
              "440 Hz at its level")
    # The other side's tone out of the loudspeaker: -12 dBFS at its peak.
    alice.stats(lambda s: abs(subscriber(s, "audio")["toneHz"] - 660) < 2, "660 Hz")
    recording = room.record()
    before = alice.stats(lambda s: s["playout"]["playoutDelay"] > 0, "a loudspeaker")
    alice.stats(lambda s: s["time"] > before["time"] + 4, "four seconds")
    heard = room.heard(recording)[48000:]
    assert level_at(heard, 660) == pytest.approx(-15, abs=1)
    # Nothing else is in it: no gaps, no second tone.
    assert level(heard) < level_at(heard, 660) + 1
    alice.stats(lambda s: 0 < s["playout"]["playoutDelay"] < 0.5 and 0 < s["publisher"]["audio"]["captureDelay"] < 0.5, "short delays")
    assert not alice.all("warning")


def test_without_devices_a_call_goes_on_and_says_so(connect, tmp_path):
    (tmp_path / "asound.conf").write_text("")
    alice = connect("--video-source", "none", environment={"ALSA_CONFIG_PATH": str(tmp_path / "asound.conf")})
    assert "silence is sent" in alice.event("warning", message="there is no microphone: silence is sent")["message"]
    assert alice.stats(lambda s: s["publisher"]["audio"]["packetsEncoded"] > 0, "silence, encoded")


def test_an_unknown_device_is_an_error_that_names_what_there_is(connect, room):
    alice = connect("--video-source", "none", "--audio-source", "mic:Nonesuch", environment=room.environment)
    assert alice.exit_code() == 66
    assert 'there is no microphone "Nonesuch"' in "\n".join(alice.errors)
    assert "Default" in "\n".join(alice.errors)


def voice(seconds, seed=1, pitch=130.0):
    """Something like a voice: harmonics of a pitch that wanders, in syllables."""
    dice, phase, samples = random.Random(seed), 0.0, []
    while len(samples) < seconds * 48000:
        length = dice.randint(4800, 14400)
        amplitude = 0.0 if dice.random() < 0.3 else dice.uniform(0.1, 0.25)
        brightness = dice.uniform(0.5, 0.9)
        pitch = min(260.0, max(90.0, pitch * dice.uniform(0.85, 1.18)))
        weights = [brightness**k / 2 for k in range(12)]
        for i in range(length):
            phase += 2 * math.pi * pitch / 48000
            envelope = amplitude * math.sin(math.pi * i / length)
            samples.append(envelope * sum(w * math.sin(phase * (k + 1)) for k, w in enumerate(weights)) if amplitude else 0.0)
    return samples


@pytest.fixture
def echoing_room(tmp_path_factory):
    room = SoundRoom(tmp_path_factory.mktemp("room"), echo=6)
    yield room
    room.close()


def test_the_loudspeaker_is_not_heard_through_the_microphone(connect, echoing_room, tmp_path):
    """Bob hears himself 25 dB quieter, and alice when she speaks."""
    with wave.open(str(tmp_path / "voice.wav"), "wb") as out:
        out.setparams((1, 2, 48000, 0, "NONE", ""))
        out.writeframes(array.array("h", (int(32767 * x) for x in voice(20))).tobytes())

    def call(*flags):
        alice = connect("--name", "alice", "--video-source", "none", *flags, environment=echoing_room.environment)
        bob = connect("--name", "bob", "--video-source", "none", "--audio-source", "file:voice.wav", "--audio-sink", "null")
        bob.event("subscriberConnected")
        # Time to learn the way of the echo.
        bob.stats(lambda s: subscriber(s, "audio")["totalSamplesDuration"] > 7, "seven seconds of sound")
        return alice, bob

    def level_of_echo(bob):
        """In the five seconds of sound that come now."""
        first = bob.stats(lambda s: subscriber(s, "audio")["totalSamplesDuration"] > 0, "sound")
        last = bob.stats(lambda s: subscriber(s, "audio")["totalSamplesDuration"]
                         > subscriber(first, "audio")["totalSamplesDuration"] + 5, "five seconds of sound")
        energy, seconds = (subscriber(last, "audio")[name] - subscriber(first, "audio")[name]
                           for name in ("totalAudioEnergy", "totalSamplesDuration"))
        return 10 * math.log10(energy / seconds + 1e-13)

    alice, bob = call("--no-aec")
    loud = level_of_echo(bob)
    alice.end()
    bob.end()
    assert loud > -45, "there is no echo to take away"
    alice, bob = call()
    # Where a busy machine lets devices run dry, the echo's way changes, and has to be learned anew.
    quiet = [level_of_echo(bob)]
    while quiet[-1] >= loud - 25 and len(quiet) < 20:
        quiet.append(level_of_echo(bob))
    print(f"the echo is {loud:.1f} dBFS, and {quiet} after cancelling")
    assert quiet[-1] < loud - 25
    # Alice's own voice passes.
    bob.command_line("mute-mic")
    echoing_room.play(voice(60, seed=5, pitch=190))
    bob.stats(lambda s: subscriber(s, "audio")["audioLevel"] > -35, "alice's voice")
