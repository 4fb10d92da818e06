"""The page records a call: buttons, badges, the file's own page."""
import asyncio, urllib.parse


async def test_page_records_the_call(room):
    terminal = await room.participant("--video-source", "test", "--audio-source", "tone:440", "--name", "Terminal")
    await terminal.event("sessionConnected")
    page = await room.join(name="Anna", tone=660)
    await page.until("(await report()).publishing && (await report()).subscribers[0]?.framesDecoded > 5")
    await page.until("!document.getElementById('record').disabled && document.getElementById('recording').hidden")
    await page.js("startRecording(), 1")
    started = await terminal.event("archiveStarted")
    await page.until("!document.getElementById('recording').hidden && (await report()).archives[0]?.status === 'started'")
    late = await room.join(name="Berta")
    await late.until(f"(await report()).archives[0]?.id === '{started['archiveId']}' && !document.getElementById('recording').hidden")
    await page.until("(await report()).subscribers.length === 2")

    # Of the recorder nobody knows: the three and their connections are all there is.
    def connections():
        return {event["connectionId"] for event in terminal.events if event["event"] == "connectionCreated"}
    await terminal.until(lambda: len(connections()) >= 3, "the others' connections")
    # The recorder and the others are sent pictures, and then there are three seconds of film.
    def watched():
        stats = [event["publisher"] for event in terminal.events if event["event"] == "stats"]
        return stats and sum(peer.get("video", {}).get("framesSent", 0) > 30 for peer in stats[-1]["subscribers"]) >= 3
    await terminal.until(watched, "a recorder")
    await asyncio.sleep(3)
    assert len(connections()) == 3
    await page.js("stopRecording(), 1")
    await terminal.event("archiveStopped", archiveId=started["archiveId"])
    for one in (page, late):
        await one.until("document.getElementById('recording').hidden && (await report()).archives[0].status === 'stopped'")
    assert "archiveStopped" in (await page.js("report()"))["events"]

    # The archive's page waits for the file, then plays it.
    address = f"{room.server.url}/view/{urllib.parse.quote(started['archiveId'])}"
    film = await room.open(address)
    await film.until("document.querySelector('main')?.dataset.status === 'available'")
    await film.until("document.querySelector('video')?.readyState >= 2 && document.querySelector('video').videoWidth === 640")
    duration = await film.js("document.querySelector('video').duration")
    assert duration > 1, duration


async def test_keys_of_a_terminal(room):
    """What the keys a and w do, as lines."""
    terminal = await room.participant("--video-source", "test", "--audio-source", "tone:440")
    await terminal.event("publisherStreamCreated")
    await terminal.say("archive stop")
    refused = await terminal.event("error")
    assert "not being recorded" in refused["message"]
    await terminal.say("archive start")
    started = await terminal.event("archiveStarted")
    await terminal.say("archive stop")
    await terminal.event("archiveStopped", archiveId=started["archiveId"])
