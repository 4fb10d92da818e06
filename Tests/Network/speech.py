"""Speech to send, and how good it still is where it arrives (PESQ, ITU-T P.862.2 at 16 kHz)."""
import pathlib, subprocess, wave

import numpy

try:
    from pesq import pesq, PesqError
except ImportError:
    pesq = None

RATE = 16_000
RECORDING = pathlib.Path("/usr/share/pocketsphinx/test/data/librivox/sense_and_sensibility_01_austen_64kb-0870.wav")


def missing():
    """Why no PESQ can be measured; None if it can."""
    if pesq is None:
        return "PyPI's pesq is not installed"
    if not RECORDING.exists():
        return f"{RECORDING} is missing (Debian's pocketsphinx-testdata)"
    return None


def make_clip(path):
    """A loop of speech, 48 kHz mono; without a recording, a tone."""
    source = ["-i", RECORDING] if RECORDING.exists() else ["-f", "lavfi", "-i", "sine=frequency=440:duration=7"]
    subprocess.run(["ffmpeg", "-y", "-loglevel", "error", *source, "-ac", "1", "-ar", "48000", path], check=True)


def load(path):
    """The samples of a WAV file of 16 bits, one channel of it."""
    with wave.open(str(path)) as file:
        channels, rate = file.getnchannels(), file.getframerate()
        samples = numpy.frombuffer(file.readframes(file.getnframes()), "<i2")[::channels]
    return samples, rate


def to_16k(samples, rate):
    """A third of 48 kHz, through a low-pass filter at 7.2 kHz."""
    if rate == RATE:
        return samples.astype(float)
    if rate != 3 * RATE:
        raise ValueError(f"a rate of {rate}")
    taps = numpy.arange(-96, 97)
    kernel = numpy.sinc(taps * 14_400 / rate) * numpy.hamming(len(taps))
    return numpy.convolve(samples.astype(float), kernel / kernel.sum(), "same")[::3]


def score(clip, received, rate):
    """PESQ of some seconds of what was received against the loop that was sent, whatever its phase; None: no speech in it."""
    loop = to_16k(*load(clip))
    heard = to_16k(received, rate)
    repeats = -(-len(heard) // len(loop)) + 1
    sent = numpy.tile(loop, repeats)
    # Where in the loop it began: the peak of the circular correlation with its first whole turn.
    turn = heard[:len(loop)]
    spectrum = numpy.fft.rfft(loop) * numpy.conj(numpy.fft.rfft(turn, len(loop)))
    phase = int(numpy.argmax(numpy.fft.irfft(spectrum, len(loop))))
    reference = sent[phase:phase + len(heard)]
    try:
        return pesq(RATE, reference.astype("int16"), numpy.clip(heard, -32768, 32767).astype("int16"), "wb")
    except PesqError:
        return None
