"""What a recorded file holds, by ffprobe and ffmpeg: lengths, tones, pictures, and how far sound and picture of the
test pattern are apart."""
import json
import subprocess

import numpy

from otchat import LIMIT

RATE = 48_000


def run(*command):
    return subprocess.run(command, capture_output=True, timeout=LIMIT, check=True).stdout


def probe(path):
    """{"video": stream, "audio": stream, "format": …} as ffprobe tells them."""
    found = json.loads(run("ffprobe", "-v", "error", "-show_streams", "-show_format", "-of", "json", path))
    return {s["codec_type"]: s for s in found["streams"]} | {"format": found["format"]}


def packet_times(path, kind):
    """Presentation times of all packets, in seconds."""
    out = run("ffprobe", "-v", "error", "-select_streams", kind[0], "-show_entries", "packet=pts_time", "-of", "csv=p=0", path)
    return [float(line.rstrip(b",")) for line in out.split()]


def sound(path):
    """Left channel and the time of its first sample; gaps are filled with silence."""
    samples = run("ffmpeg", "-v", "error", "-i", path, "-map", "0:a", "-af", "aresample=async=1:first_pts=0",
                  "-ac", "1", "-ar", str(RATE), "-f", "s16le", "-")
    return numpy.frombuffer(samples, numpy.int16).astype(float)


def tone(samples):
    """The loudest frequency, in Hz."""
    spectrum = numpy.abs(numpy.fft.rfft(samples * numpy.hanning(len(samples))))
    return float(numpy.argmax(spectrum) * RATE / len(samples))


def luma(path, width, height):
    """[(seconds, luma plane)] of all pictures, scaled to one size."""
    times = run("ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "frame=pts_time", "-of", "csv=p=0", path)
    times = [float(t.rstrip(b",")) for t in times.split() if t.rstrip(b",")]
    raw = run("ffmpeg", "-v", "error", "-i", path, "-map", "0:v", "-fps_mode", "passthrough",
              "-vf", f"scale={width}:{height}", "-f", "rawvideo", "-pix_fmt", "gray", "-")
    planes = numpy.frombuffer(raw, numpy.uint8).reshape(-1, height, width)
    assert len(planes) == len(times), (len(planes), len(times))
    return list(zip(times, planes))


def strip(plane):
    """(frame number, send time in µs) of a test pattern's picture; None if it has none (see TestPatternStrip)."""
    height, width = plane.shape
    top = height - height // 10
    rows = []
    for row in range(4):
        y = top + (2 * row + 1) * (height - top) // 8
        bits = 0
        for column in range(32):
            x = (2 * column + 1) * width // 64
            bits = bits << 1 | int(plane[y - 2:y + 3, x - 2:x + 3].mean() > 126)
        rows.append(bits)
    crc = 0xB704CE
    for index in range(13):
        crc ^= (rows[index // 4] >> (24 - index % 4 * 8) & 0xFF) << 16
        for _ in range(8):
            crc <<= 1
            if crc & 0x1000000:
                crc ^= 0x1864CFB
    if rows[3] & 0xFFFFFF != crc & 0xFFFFFF:
        return None
    return rows[0], rows[1] << 24 | rows[2] >> 8


def seconds_by_picture(pictures):
    """File time at which full seconds of the sender's wall clock were captured, by the strips. A picture that stands
    for a while, as none came, counts when it comes."""
    found, last = {}, None
    for time, plane in pictures:
        read = strip(plane)
        if read and read[0] != last:
            last = read[0]
            second = round(read[1] / 1e6)
            found.setdefault(second, []).append(time - (read[1] / 1e6 - second))
    return [float(numpy.median(found[second])) for second in sorted(found)]


def beginning(pictures):
    """When the film begins by the sender's wall clock, in seconds since the Unix epoch."""
    last, found = None, []
    for time, plane in pictures:
        read = strip(plane)
        if read and read[0] != last:
            last = read[0]
            found.append(read[1] / 1e6 - time)
    return float(numpy.median(found))


def blips(samples):
    """Seconds at which the test sound's blips begin: loud after 200 ms of quiet."""
    loud = numpy.abs(samples) > 2000
    found, last = [], -RATE
    for index in numpy.flatnonzero(loud):
        if index - last > RATE // 5:
            found.append(index / RATE)
        last = index
    return found


def offsets(path, width=640, height=480):
    """ms by which each blip comes after the picture of its second."""
    seconds = seconds_by_picture(luma(path, width, height))
    assert seconds, f"no test pattern in {path}"
    pairs = [(blip, min(seconds, key=lambda s: abs(s - blip))) for blip in blips(sound(path))]
    return [1000 * (blip - second) for blip, second in pairs if abs(blip - second) < 0.4]
