"""What is sent: speech, and pictures that can use any bitrate."""
import dataclasses, pathlib, subprocess

import speech


@dataclasses.dataclass
class Media:
    """Files that all participants read."""

    speech: pathlib.Path
    video: pathlib.Path  # Y4M, 640x480 at 30 a second: something moves, with grain


def make(folder):
    media = Media(folder / "speech.wav", folder / "grain.y4m")
    speech.make_clip(media.speech)
    subprocess.run([
        "ffmpeg", "-y", "-loglevel", "error", "-f", "lavfi", "-i", "testsrc2=size=640x480:rate=30:duration=4",
        "-vf", "noise=alls=25:allf=t:all_seed=1", "-pix_fmt", "yuv420p", media.video], check=True)
    return media
