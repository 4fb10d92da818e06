/** CSS filters by the type of a video filter. */
const VIDEO_FILTERS = {
  blur: ({ radius }) => `blur(${Math.min(100, Math.max(1, Number(radius) || 8))}px)`,
  grayscale: () => 'grayscale(1)',
  invert: () => 'invert(1)',
  sepia: () => 'sepia(1)',
};

/** A media processor that draws the whole picture once more, through a filter. */
class VideoFilter {
  /** @param {object} filter `{type: 'blur'|'grayscale'|'invert'|'sepia', radius?}` */
  constructor(filter) {
    this.filter = VIDEO_FILTERS[filter.type](filter);
  }

  async setTrack(track) {
    this._end();
    const video = Object.assign(document.createElement('video'), {
      muted: true, playsInline: true, srcObject: new MediaStream([track]) });
    await video.play();
    const canvas = document.createElement('canvas');
    const context = canvas.getContext('2d');
    const rate = Math.round(track.getSettings().frameRate) || 30;
    const draw = () => {
      if (canvas.width !== video.videoWidth || canvas.height !== video.videoHeight) {
        Object.assign(canvas, { width: video.videoWidth, height: video.videoHeight });
      }
      context.filter = this.filter;
      context.drawImage(video, 0, 0);
    };
    draw();
    // A timer goes on where the page is not seen, other than animation frames.
    const timer = setInterval(draw, 1000 / rate);
    this._end = () => {
      clearInterval(timer);
      video.srcObject = null;
    };
    return canvas.captureStream(rate).getVideoTracks()[0];
  }

  async destroy() { this._end(); }

  _end() {}
}
