#!/usr/bin/env python3
"""PESQ of speech through encoder, RTP, a simulated link and decoder in virtual time, medians of three seeds.

  Tests/Network/speech_quality.py [FOLDER]    FOLDER keeps what was heard: 48 kHz mono, 16 bits, no header

Needs nothing but a debug build, runs on a busy machine, and says what the audio path alone makes of a network.
"""
import collections, os, pathlib, statistics, subprocess, sys, tempfile

import numpy

import speech

ROOT = pathlib.Path(__file__).resolve().parents[2]
SETTLING = 3  # seconds


def main(folder):
    if why := speech.missing():
        sys.exit(f"speech_quality: error: {why}")
    clip, raw = folder / "speech.wav", folder / "speech.raw"
    speech.make_clip(clip)
    speech.load(clip)[0].tofile(raw)
    environment = os.environ | {"OTCHAT_SPEECH": str(raw), "OTCHAT_SPEECH_OUT": str(folder)}
    subprocess.run(
        ["swift", "test", "--filter", "MediaIOTests.SpeechQualityTests"], cwd=ROOT, env=environment, check=True,
        stdout=subprocess.DEVNULL)
    scores = collections.defaultdict(list)
    for path in sorted(folder.glob("*.heard")):
        heard = numpy.fromfile(path, "<i2")[SETTLING * 48_000:]
        scores[path.stem.rsplit("-", 1)[0]].append(speech.score(clip, heard, 48_000) or 1)
    for name, values in scores.items():
        print(f"{name:10} {statistics.median(values):.2f}  ({', '.join(f'{value:.2f}' for value in values)})")


if len(sys.argv) > 1:
    main(pathlib.Path(sys.argv[1]))
else:
    with tempfile.TemporaryDirectory(prefix="otchat-speech.") as name:
        main(pathlib.Path(name))
