"""Muting, unpublishing and disconnecting others."""
import json

from test_api import page_of

JOIN = """(async () => {
  const session = window.session = await connected(credentials);
  note(session, 'sessionDisconnected muteForced');
  window.publisher = OT.initPublisher(null, media());
  note(publisher, 'muteForced streamDestroyed');
  await done((handler) => session.publish(publisher, handler));
})()"""


async def moderated(room):
    moderator, member = await page_of(room), await page_of(room, "firefox")
    known = await room.server.credentials(room.name, "moderator")
    await moderator.js(f"(window.credentials = {json.dumps(known)}, 1)")
    for page in (moderator, member):
        await page.js(JOIN)
    await moderator.until("session.streams.length() === 2")
    return moderator, member


async def test_moderation_mute(room):
    moderator, member = await moderated(room)
    await moderator.js("session.forceMuteAll([publisher.stream]).then(() => 1)")
    await member.until("log.filter((name) => name === 'muteForced').length === 2")  # of the session, of the publisher
    assert await member.js("publisher.properties.publishAudio") is False
    assert await moderator.js("publisher.properties.publishAudio") is True
    await moderator.until("session.streams.where((stream) => !stream.hasAudio).length === 1")
    # who comes later is muted too, until it is lifted
    late = await page_of(room)
    await late.js(JOIN)
    assert await late.js("[publisher.properties.publishAudio, publisher.stream.hasAudio]") == [False, False]
    await moderator.js("session.disableForceMute().then(() => 1)")
    await late.until("session._muteOnEntry === false")
    await member.js("publisher.publishAudio(true), 1")
    await moderator.until("session.streams.where((stream) => stream.hasAudio).length === 2")
    # one alone
    stream = await member.js("publisher.stream.streamId")
    await moderator.js(f"session.forceMuteStream(session.streams.get('{stream}')).then(() => 1)")
    await moderator.until(f"session.streams.get('{stream}').hasAudio === false")


async def test_moderation_unpublish_and_disconnect(room):
    moderator, member = await moderated(room)
    stream = await member.js("publisher.stream.streamId")
    await moderator.js(f"done((handler) => session.forceUnpublish(session.streams.get('{stream}'), handler)).then(() => 1)")
    await member.until("log.includes('streamDestroyed:forceUnpublished') && document.querySelector('.OT_publisher') === null")
    await moderator.until("session.streams.length() === 1")
    connection = await member.js("session.connection.connectionId")
    await moderator.js(f"done((handler) => session.forceDisconnect(session.connections.get('{connection}'), handler)).then(() => 1)")
    await member.until("log.includes('sessionDisconnected:forceDisconnected') && !session.isConnected()")
    await moderator.until("session.connections.length() === 1")
