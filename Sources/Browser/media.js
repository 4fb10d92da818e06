const MEDIA_ERRORS = {
  NotAllowedError: ['OT_USER_MEDIA_ACCESS_DENIED', 'Access to the camera or microphone was denied.'],
  SecurityError: ['OT_USER_MEDIA_ACCESS_DENIED', 'Access to the camera or microphone was denied.'],
  NotFoundError: ['OT_NO_DEVICES_FOUND', 'There is no camera or microphone.'],
  NotReadableError: ['OT_HARDWARE_UNAVAILABLE', 'The camera or microphone is in use or does not work.'],
  AbortError: ['OT_HARDWARE_UNAVAILABLE', 'The camera or microphone does not work.'],
  OverconstrainedError: ['OT_CONSTRAINTS_NOT_SATISFIED', 'No device can do what was asked for.'],
  TypeError: ['OT_CONSTRAINTS_NOT_SATISFIED', 'No device can do what was asked for.'],
};
const SCREEN_SOURCES = ['screen', 'application', 'window', 'browser'];

function mediaError(error) {
  if (error.code >= 1000) return error;
  const [name, message] = MEDIA_ERRORS[error.name] || ['OT_MEDIA_ERROR', 'The media cannot be used.'];
  return otError(1500, `${message} (${error.message})`, name);
}

const isTrack = (source) => typeof MediaStreamTrack !== 'undefined' && source instanceof MediaStreamTrack;
const isOff = (source) => source === null || source === false;

/** Constraints of getUserMedia for a publisher's properties. */
function constraintsFor({ audioSource, videoSource, resolution, frameRate, facingMode, ...properties }) {
  const [width, height] = /^\d+x\d+$/.test(resolution) ? resolution.split('x').map(Number) : [640, 480];
  const device = (source) => typeof source === 'string' && source && { deviceId: { exact: source } };
  const processing = properties.disableAudioProcessing
    ? { echoCancellation: false, noiseSuppression: false, autoGainControl: false }
    : {};
  for (const name of ['echoCancellation', 'noiseSuppression', 'autoGainControl']) {
    if (properties[name] !== undefined) processing[name] = properties[name];
  }
  return {
    audio: !isOff(audioSource) && !isTrack(audioSource) && {
      ...processing, ...device(audioSource), ...(properties.enableStereo && { channelCount: 2 }) },
    video: !isOff(videoSource) && !isTrack(videoSource) && !SCREEN_SOURCES.includes(videoSource) && {
      width: { ideal: width }, height: { ideal: height }, frameRate: { ideal: frameRate || 30 },
      ...(facingMode && { facingMode }), ...device(videoSource) },
  };
}

/**
 * The stream that a publisher's properties ask for: devices, screens, tracks of the page.
 * A device that nobody asked for by name and that is not there is left out.
 */
async function openMedia(properties) {
  const { audioSource, videoSource } = properties;
  if (isOff(audioSource) && isOff(videoSource)) {
    throw otError(1011, 'A publisher needs an audio source or a video source.');
  }
  const stream = new MediaStream();
  if (SCREEN_SOURCES.includes(videoSource)) {
    const screen = await devices().getDisplayMedia({ video: true, audio: false });
    screen.getTracks().forEach((track) => stream.addTrack(track));
  }
  const constraints = constraintsFor(properties);
  if (constraints.audio || constraints.video) {
    try {
      const captured = await captureDevices(constraints, properties);
      captured.getTracks().forEach((track) => stream.addTrack(track));
    } catch (error) {
      stream.getTracks().forEach((track) => track.stop()); // the screen, if it was opened
      throw error;
    }
  }
  for (const source of [audioSource, videoSource]) {
    if (isTrack(source)) stream.addTrack(source);
  }
  return stream;
}

async function captureDevices(constraints, { audioSource, videoSource }) {
  try {
    return await devices().getUserMedia(constraints);
  } catch (error) {
    const optional = audioSource === undefined && videoSource === undefined;
    if (error.name !== 'NotFoundError' || !optional) throw error;
    const kinds = (await devices().enumerateDevices()).map((device) => device.kind);
    const left = {
      audio: kinds.includes('audioinput') && constraints.audio,
      video: kinds.includes('videoinput') && constraints.video };
    if (!left.audio && !left.video) throw error;
    return devices().getUserMedia(left);
  }
}

function devices() {
  if (navigator.mediaDevices) return navigator.mediaDevices;
  throw otError(
    1500, 'Cameras and microphones need a page from https or localhost.', 'OT_USER_MEDIA_ACCESS_DENIED');
}
