// :where() keeps the weight at zero, so that any rule of the page wins.
const STYLE = `
  :where(.OT_root) { position: relative; overflow: hidden; background: #000; color: #fff; }
  :where(.OT_root .OT_widget-container) { position: absolute; inset: 0; }
  :where(.OT_root .OT_video-element) { display: block; width: 100%; height: 100%; object-fit: cover; }
  :where(.OT_fit-mode-contain .OT_video-element) { object-fit: contain; }
  :where(.OT_mirrored .OT_video-element) { transform: scaleX(-1); }
  :where(.OT_root .OT_video-poster) { display: none; position: absolute; inset: 0; background: #222 center / contain no-repeat; }
  :where(.OT_audio-only .OT_video-poster) { display: block; }
  :where(.OT_audio-only .OT_video-element) { visibility: hidden; }
  :where(.OT_root .OT_name) { position: absolute; inset: 0 0 auto 0; margin: 0; padding: 6px 10px;
    font: 14px sans-serif; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; background: rgba(0,0,0,.4); }
  :where(.OT_root .OT_mute) { position: absolute; right: 8px; bottom: 8px; padding: 6px 10px; border: 0;
    border-radius: 4px; font: 13px sans-serif; color: #fff; background: rgba(0,0,0,.6); cursor: pointer; }
  :where(.OT_root .OT_mode-off) { display: none; }
  :where(.OT_root .OT_mode-auto) { opacity: 0; transition: opacity .2s; }
  :where(.OT_root:hover .OT_mode-auto, .OT_root .OT_mode-auto:focus) { opacity: 1; }`;

function addStyle() {
  if (document.querySelector('style[data-opentok]')) return;
  const style = document.createElement('style');
  style.dataset.opentok = VERSION;
  style.textContent = STYLE;
  document.head.prepend(style);
}

/** A number of pixels, or any CSS length, or nothing: as CSS. */
function cssLength(value, otherwise) {
  if (value === undefined || value === null) return otherwise;
  return /^\d+(\.\d+)?$/.test(value) ? `${value}px` : String(value);
}

/** A URI, or the base64 of a PNG as getImgData() gives it, or nothing: as a CSS image. */
function cssImage(image) {
  if (!image) return '';
  const uri = /^[A-Za-z0-9+/=]{40,}$/.test(image) ? `data:image/png;base64,${image}` : image;
  return `url("${uri.replace(/["\\\n]/g, encodeURIComponent)}")`;
}

/**
 * The DOM of a publisher or a subscriber:
 *   div.OT_root.OT_publisher (or .OT_subscriber, .OT_loading until there is something to see)
 *     div.OT_widget-container
 *       video.OT_video-element, div.OT_video-poster, h1.OT_name, button.OT_mute
 */
class View {
  /**
   * @param {'publisher'|'subscriber'} role
   * @param {Element|string|null|undefined} target element or its id
   * @param {object} properties the page's: insertMode, insertDefaultUI, width, height, fitMode, style, name, …
   * @param {object} callbacks {onMuteClicked, onDimensions(old, new), onBlocked, onUnblocked}
   */
  constructor(role, target, properties, callbacks) {
    this.callbacks = callbacks;
    this.dimensions = { width: 0, height: 0 };
    this.style = {
      nameDisplayMode: 'auto', buttonDisplayMode: 'auto', videoDisabledDisplayMode: 'auto',
      audioLevelDisplayMode: 'auto', backgroundImageURI: '', ...properties.style };
    this._makeVideo();
    this.blocked = false;
    if (properties.insertDefaultUI === false) return;
    addStyle();
    this._insert(target, properties.insertMode || 'replace');
    this.element.replaceChildren();
    const fit = properties.fitMode === 'contain' ? 'contain' : 'cover';
    this.element.classList.add('OT_root', `OT_${role}`, 'OT_loading', `OT_fit-mode-${fit}`);
    this.element.classList.toggle('OT_mirrored', Boolean(properties.mirror));
    this.element.style.width = cssLength(properties.width, '264px');
    this.element.style.height = cssLength(properties.height, '198px');

    const container = this._add(this.element, 'div', 'OT_widget-container');
    container.append(this.video);
    this.poster = this._add(container, 'div', 'OT_video-poster');
    this.name = this._add(container, 'h1', 'OT_name');
    this.button = this._add(container, 'button', 'OT_mute');
    this.button.type = 'button';
    this.button.onclick = callbacks.onMuteClicked;
    if (properties.showControls === false) {
      this.name.remove();
      this.button.remove();
    }
    this.setName(properties.name || '');
    this.setMuted(false);
    this.setStyle({});
  }

  get id() {
    return this.element ? this.element.id : undefined;
  }

  setStyle(changes) {
    Object.assign(this.style, changes);
    if (!this.element) return;
    for (const [part, mode] of [[this.name, 'nameDisplayMode'], [this.button, 'buttonDisplayMode']]) {
      part.classList.toggle('OT_mode-off', this.style[mode] === 'off');
      part.classList.toggle('OT_mode-auto', this.style[mode] === 'auto' || this.style[mode] === 'mini');
    }
    this.poster.style.backgroundImage = cssImage(this.style.backgroundImageURI);
  }

  setName(name) {
    if (!this.element) return;
    this.name.textContent = name;
    this.name.hidden = !name;
  }

  setMuted(muted) {
    if (!this.element) return;
    this.button.textContent = muted ? 'Unmute' : 'Mute';
    this.button.setAttribute('aria-pressed', String(muted));
    this.button.classList.toggle('OT_active', muted);
  }

  /** Shows the poster in place of a picture that is switched off. */
  setVideoShown(shown) {
    if (this.element) this.element.classList.toggle('OT_audio-only', !shown);
  }

  setFailed() {
    if (!this.element) return;
    this.element.classList.remove('OT_loading');
    this.element.classList.add('OT_error');
  }

  /** Shows a stream; resolves when there is something to see or, without video, at once. */
  async show(stream, { muted = false, waitForVideo = true } = {}) {
    this.video.muted = muted;
    if (this.video.srcObject !== stream) this.video.srcObject = stream;
    const shown = new Promise((resolve) => {
      if (!waitForVideo || this.video.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA) resolve();
      this.video.addEventListener('loadeddata', resolve, { once: true });
      setTimeout(resolve, 3000); // a still source may have nothing to send
    });
    this.play();
    await shown;
    if (this.element) this.element.classList.remove('OT_loading');
  }

  /** Plays; where the browser wants a click before it makes sound, without sound until `unblock()`. */
  async play() {
    try {
      await this.video.play();
    } catch (error) {
      if (error.name !== 'NotAllowedError' || this.video.muted) return;
      this.blocked = true;
      this.video.muted = true;
      this.callbacks.onBlocked();
      this.play();
    }
  }

  async unblock() {
    if (!this.blocked) return;
    this.video.muted = false;
    await this.video.play();
    this.blocked = false;
    this.callbacks.onUnblocked();
  }

  /** The current picture as base64 of a PNG. */
  imageData() {
    const canvas = document.createElement('canvas');
    canvas.width = this.video.videoWidth;
    canvas.height = this.video.videoHeight;
    if (canvas.width === 0 || canvas.height === 0) return null;
    canvas.getContext('2d').drawImage(this.video, 0, 0);
    return canvas.toDataURL('image/png').split(',')[1];
  }

  remove() {
    this.video.onresize = null;
    this.video.srcObject = null;
    if (this.element) this.element.remove();
  }

  _makeVideo() {
    const video = this.video = document.createElement('video');
    video.className = 'OT_video-element';
    video.autoplay = true;
    video.playsInline = true;
    video.setAttribute('playsinline', '');
    video.onresize = () => {
      const before = this.dimensions;
      this.dimensions = { width: video.videoWidth, height: video.videoHeight };
      if (before.width !== this.dimensions.width || before.height !== this.dimensions.height) {
        this.callbacks.onDimensions(before, this.dimensions);
      }
    };
  }

  _insert(target, mode) {
    const given = typeof target === 'string' ? document.getElementById(target) : target;
    if (given && mode === 'replace') {
      this.element = given;
    } else {
      this.element = document.createElement('div');
      if (typeof target === 'string' && !given) this.element.id = target;
      if (!given) document.body.append(this.element);
      else if (mode === 'before') given.before(this.element);
      else if (mode === 'after') given.after(this.element);
      else given.append(this.element);
    }
    if (!this.element.id) this.element.id = `OT_${uuid()}`;
  }

  _add(parent, tag, className) {
    const child = document.createElement(tag);
    child.className = className;
    parent.append(child);
    return child;
  }
}

let sharedAudioContext;

/** Measures how loud a stream is, 0 to 1, some 30 times a second. */
class AudioLevelMeter {
  constructor(stream, onLevel) {
    sharedAudioContext = sharedAudioContext || new AudioContext();
    sharedAudioContext.resume().catch(() => {});
    this.source = sharedAudioContext.createMediaStreamSource(stream);
    const analyser = sharedAudioContext.createAnalyser();
    analyser.fftSize = 2048;
    this.source.connect(analyser);
    const samples = new Float32Array(analyser.fftSize);
    this.timer = setInterval(() => {
      analyser.getFloatTimeDomainData(samples);
      onLevel(samples.reduce((peak, sample) => Math.max(peak, Math.min(1, Math.abs(sample))), 0));
    }, 33);
  }

  stop() {
    clearInterval(this.timer);
    this.source.disconnect();
  }
}
