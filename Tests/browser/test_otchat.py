"""A terminal and a browser in a call: `otchat connect` and test.html, both directions."""
import json

from test_api import page_of
from test_call import PARTNER, pictures_arrive

MEDIA = ("--video-source", "test", "--audio-source", "tone:440", "--name", "Terminal")


async def call_with(room, browser):
    terminal = await room.participant(*MEDIA)
    await terminal.event("sessionConnected")
    page = await room.join(browser, name="Browser", tone=660)

    async def sent():
        return terminal.frames_sent()

    # the browser sees and hears the terminal
    await pictures_arrive(page, sent)
    await page.until(f"Math.abs({PARTNER}.toneHz - 440) < 3")
    seen = await page.js(PARTNER)
    assert (seen["name"], seen["width"], seen["height"]) == ("Terminal", 640, 480), seen
    # the terminal sees and hears the browser
    await terminal.event("streamCreated", name="Browser")
    await terminal.pictures("the browser's picture")
    await terminal.stats(lambda s: s["audio"]["totalAudioEnergy"] > 0, "sound")

    # muting, both ways
    await terminal.say("mute-mic")
    await page.until(f"{PARTNER}.hasAudio === false && {PARTNER}.toneHz === null")
    await terminal.say("unmute-mic")
    await page.until(f"{PARTNER}.hasAudio && Math.abs({PARTNER}.toneHz - 440) < 3")
    await page.js("mute(true)")
    await terminal.event("streamPropertyChanged", property="hasAudio", newValue=False)
    await page.js("mute(false)")
    await terminal.event("streamPropertyChanged", property="hasAudio", newValue=True)

    # the camera, both ways
    await terminal.say("toggle-camera")
    await page.until(f"{PARTNER}.hasVideo === false")
    await terminal.say("toggle-camera")
    await page.until(f"{PARTNER}.hasVideo")
    await pictures_arrive(page, sent)
    await page.js("camera(false)")
    await terminal.event("videoDisabled", reason="publishVideo")
    await page.js("camera(true)")
    await terminal.event("videoEnabled", reason="publishVideo")
    await terminal.pictures("video again")

    # chat, both ways
    await terminal.say("say Grüße aus dem Terminal 👋")
    await page.until("(await report()).signals.some(({type, data, fromSelf}) => type === 'chat' && data.includes('Grüße aus dem Terminal 👋') && !fromSelf)")
    await page.js("say('Grüße zurück')")
    got = await terminal.event("signal", type="chat", fromSelf=False)
    assert "Grüße zurück" in got["data"], got

    # the browser leaves and comes back
    await page.js("leave()")
    await terminal.event("streamDestroyed", reason="clientDisconnected")
    await page.js("join()")
    await terminal.event("subscriberConnected", skip=1)
    await terminal.pictures("the picture of who came back")
    await pictures_arrive(page, sent)
    await page.until(f"Math.abs({PARTNER}.toneHz - 440) < 3")

    # the terminal leaves
    assert await terminal.stop() == 130, terminal.errors
    await page.until("(await report()).subscribers.length === 0")
    told = (await page.js("report()"))
    assert told["errors"] == [] and "connectionDestroyed" in told["events"], told
    assert abs(terminal.tone() - 660) <= 4, terminal.tone()


async def test_otchat_and_chromium(room):
    await call_with(room, "chromium")


async def test_otchat_and_firefox(room):
    await call_with(room, "firefox")


async def test_otchat_is_muted_by_a_moderator(room):
    terminal = await room.participant(*MEDIA)
    await terminal.event("publisherStreamCreated")
    page = await page_of(room)
    moderator = await room.server.credentials(room.name, "moderator")
    await page.js(f"connected({json.dumps(moderator)}).then((session) => {{ window.session = session; return session.forceMuteAll(); }}).then(() => 1)")
    await terminal.event("muteForced", active=True)
    await page.until("session.streams.where((stream) => stream.hasAudio).length === 0")
    await page.js("session.forceDisconnect(session.streams.where()[0].connection), 1")
    await terminal.event("sessionDisconnected", reason="forceDisconnected")


async def test_sound_makes_room_for_pictures_on_a_thin_link(room):
    """Chromium sends its sound twice to `otchat`, which its own share-out does not know of."""
    page = await page_of(room)
    await page.js("""(() => {
      window.available = 150000;
      window.looks = 0;
      const {getStats} = RTCPeerConnection.prototype, {setParameters} = RTCRtpSender.prototype;
      RTCPeerConnection.prototype.getStats = async function () {
        const report = new Map(await getStats.call(this));
        looks += 1;
        for (const entry of report.values()) if (entry.type === 'candidate-pair') entry.availableOutgoingBitrate = available;
        return report;
      };
      window.asked = [];
      RTCRtpSender.prototype.setParameters = function (parameters) {
        if (this.track.kind === 'audio') asked.push(parameters.encodings[0].maxBitrate || 0);
        return setParameters.call(this, parameters);
      };
      return 1;
    })()""")
    await page.js(f"""connected({json.dumps(await room.server.credentials(room.name))}).then((session) =>
      done((handler) => session.publish(OT.initPublisher({{audioBitrate: 40000, ...media()}}), handler))).then(() => 1)""")
    terminal = await room.participant("--no-publish")
    await terminal.event("firstVideoFrame")
    await page.until("asked.length === 1")
    await page.js("window.available = 300000, window.looks = 0, 1")  # between the two limits nothing changes
    await page.until("looks >= 3")
    assert await page.js("asked") == [24000]
    await page.js("window.available = 400000, 1")
    await page.until("asked.length === 2")
    assert await page.js("asked") == [24000, 40000]
