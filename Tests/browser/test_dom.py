"""Where elements go and what classes they have."""
from test_api import page_of

TARGETS = """<main id="main"><p id="before"></p><div id="target" class="mine"><i>old</i></div><p id="after"></p></main>"""


async def test_dom_of_publishers(room):
    """Each insertMode, sizes, the loading class, and that destroy() leaves nothing behind."""
    for mode, where in {
        "replace": "#main > #target.mine.OT_publisher:nth-child(2)",
        "append": "#target > .OT_publisher:nth-child(2)",
        "before": "#before + .OT_publisher:has(+ #target)",
        "after": "#target + .OT_publisher:has(+ #after)",
    }.items():
        page = await page_of(room, body=TARGETS)
        loading = await page.js(f"""(() => {{
          window.publisher = OT.initPublisher('target', {{insertMode: '{mode}', width: 400, height: '50%', name: 'Me', ...media()}});
          return publisher.element.classList.contains('OT_loading');
        }})()""")
        assert loading is True
        found = await page.js(f"""(() => {{
          const element = document.querySelector('{where}');
          return element && [element === publisher.element, element.id === publisher.id && element.id !== '', element.style.width, element.style.height,
            element.querySelectorAll('video.OT_video-element').length, element.querySelector('.OT_name').textContent];
        }})()""")
        assert found == [True, True, "400px", "50%", 1, "Me"], (mode, found)
        await page.until("!publisher.element.classList.contains('OT_loading')")
        assert await page.js("[publisher.videoWidth(), publisher.videoHeight()]") == [320, 240]
        await page.js("publisher.destroy(), 1")
        assert await page.js("document.querySelectorAll('.OT_root').length") == 0


async def test_dom_without_target(room):
    page = await page_of(room)
    where = await page.js("OT.initPublisher(media()).element.parentElement.tagName")
    assert where == "BODY"
    assert await page.js("OT.initPublisher('not-there', media()).element.id") == "not-there"
    bare = await page.js("""(async () => {
      const publisher = OT.initPublisher({insertDefaultUI: false, ...media()});
      const {element} = await event(publisher, 'videoElementCreated');
      return [publisher.element === undefined, element.tagName, element.isConnected];
    })()""")
    assert bare == [True, "VIDEO", False], bare


async def test_dom_of_subscribers(room):
    page = await page_of(room, body=TARGETS)
    state = await page.js("""(async () => {
      const one = await connected(credentials), other = await connected(credentials);
      const created = event(other, 'streamCreated');
      const publisher = one.publish(OT.initPublisher('before', {name: 'Anna', ...media()}));
      const {stream} = await created;
      let subscriber;
      const ready = done((handler) => { subscriber = other.subscribe(stream, 'target', {insertMode: 'append', showControls: true}, handler); });
      const loading = subscriber.element.matches('#target > .OT_root.OT_subscriber.OT_loading');
      await ready;
      window.parts = {one, other, publisher, subscriber};
      return [loading, subscriber.element.classList.contains('OT_loading'), subscriber.element.querySelector('.OT_name').textContent,
        subscriber.element.querySelector('video.OT_video-element').videoWidth, subscriber.id === subscriber.element.id];
    })()""")
    assert state == [True, False, "Anna", 320, True], state
    # the built-in mute button
    await page.js("parts.subscriber.element.querySelector('.OT_mute').click()")
    assert await page.js("parts.subscriber.properties.subscribeToAudio") is False
    # the element stays if streamDestroyed is prevented
    kept = await page.js("""(async () => {
      parts.other.once('streamDestroyed', (e) => e.preventDefault());
      const destroyed = event(parts.other, 'streamDestroyed');
      parts.one.unpublish(parts.publisher);
      await destroyed;
      await new Promise((resolve) => setTimeout(resolve));
      return [document.querySelectorAll('.OT_subscriber').length, document.querySelectorAll('.OT_publisher').length];
    })()""")
    assert kept == [1, 0], kept


async def test_dom_styles_yield(room):
    """Any rule of the page is stronger than the library's."""
    page = await page_of(room, body="<style>video { object-fit: fill; }</style>")
    fit = await page.js("done((handler) => OT.initPublisher(null, media(), handler)).then(({element}) => getComputedStyle(element.querySelector('video')).objectFit)")
    assert fit == "fill"
