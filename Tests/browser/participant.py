"""`otchat connect` as the other participant: commands in, JSON Lines events out."""
import asyncio, json, math, os, pathlib, signal, struct, time, wave

from servers import LIMIT, end, otchat


class Participant:
    async def start(self, server, room, folder, *arguments):
        self.sound = pathlib.Path(folder) / f"{room}.{time.monotonic_ns()}.wav"
        command = [
            otchat(), "connect", "--server", server, "--room", room, "--events", "-", "--stats", "0.5",
            "--audio-sink", f"file:{self.sound}", *arguments]
        self.events, self.errors, self.command = [], [], command
        self.process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            env=os.environ | {"XDG_CONFIG_HOME": str(folder)}, start_new_session=True, limit=1 << 20)
        self.readers = [asyncio.create_task(self.read_events()), asyncio.create_task(self.read_errors())]
        return self

    async def read_events(self):
        async for line in self.process.stdout:
            self.events.append(json.loads(line))

    async def read_errors(self):
        async for line in self.process.stderr:
            self.errors.append(line.decode(errors="replace"))

    async def until(self, condition, what, seconds=LIMIT):
        """The first true value of condition()."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if value := condition():
                return value
            if self.process.returncode is not None:
                # What it said last may still be on its way.
                await asyncio.wait_for(asyncio.gather(*self.readers), LIMIT)
                if value := condition():
                    return value
                what += f", but it ended with {self.process.returncode}"
                break
            await asyncio.sleep(0.05)
        told = [event for event in self.events if event["event"] != "stats"][-12:]
        figures = [event for event in self.events if event["event"] == "stats"][-2:]
        lines = "\n".join(json.dumps(event) for event in told + figures)
        raise AssertionError(f"otchat connect: not seen: {what}\n{lines}\nstderr: {''.join(self.errors[-8:])}")

    async def event(self, event, /, seconds=LIMIT, skip=0, **fields):
        """The event of this name with these fields, after leaving out the first `skip` of them."""
        def found():
            matching = [e for e in self.events if e["event"] == event and all(e.get(k) == v for k, v in fields.items())]
            return matching[skip] if len(matching) > skip else None
        return await self.until(found, f"event {event} {fields or ''}", seconds)

    async def stats(self, condition, what, seconds=LIMIT):
        """The first stats event from now on for which a condition on its only subscriber holds."""
        seen = len(self.events)

        def found():
            for event in self.events[seen:]:
                if event["event"] == "stats" and len(event.get("subscribers", [])) == 1:
                    subscriber = event["subscribers"][0]
                    if "video" in subscriber and "audio" in subscriber and condition(subscriber):
                        return subscriber
            return None
        return await self.until(found, f"stats with {what}", seconds)

    async def pictures(self, what, more=40):
        """Waits for so many pictures more; most that arrive must be decoded."""
        first = await self.stats(lambda s: s["video"]["framesDecoded"] > 0, what)
        last = await self.stats(lambda s: s["video"]["framesDecoded"] >= first["video"]["framesDecoded"] + more, what)
        decoded, received = (last["video"][name] - first["video"][name] for name in ("framesDecoded", "framesReceived"))
        assert decoded > 0.6 * received, (what, decoded, received)

    def frames_sent(self):
        """Of the newest statistics."""
        figures = [event["publisher"] for event in self.events if event["event"] == "stats" and "publisher" in event]
        return figures[-1].get("video", {}).get("framesSent", 0) if figures else 0

    async def say(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        await self.process.stdin.drain()

    async def stop(self):
        """Leaves as by Ctrl-C; the exit status."""
        status = await end(self.process, signal.SIGINT)
        await asyncio.gather(*self.readers)
        return status

    def tone(self):
        """Frequency of the loudest tone in the last quarter of a second that was played, once it is stopped."""
        with wave.open(str(self.sound)) as file:
            rate, channels, count = file.getframerate(), file.getnchannels(), file.getframerate() // 4
            file.setpos(max(0, file.getnframes() - 2 * count))
            data = file.readframes(count)
        samples = struct.unpack(f"<{len(data) // 2}h", data)[::channels]

        def power(hertz):  # Goertzel
            factor, before, now = 2 * math.cos(2 * math.pi * hertz / rate), 0.0, 0.0
            for sample in samples:
                before, now = now, sample + factor * now - before
            return before * before + now * now - factor * before * now
        return max(range(200, 1200, 4), key=power) if any(samples) else None

