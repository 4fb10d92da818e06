/**
 * OpenTok's summary of an RTCStatsReport.
 * @param {'in'|'out'} direction
 */
function summary(report, direction) {
  const stats = { timestamp: Date.now() };
  report.forEach((entry) => {
    if (entry.type !== `${direction}bound-rtp` || !['audio', 'video'].includes(entry.kind)) return;
    const remote = entry.remoteId ? report.get(entry.remoteId) : undefined;
    const incoming = direction === 'in';
    stats[entry.kind] = {
      ...(incoming
        ? { bytesReceived: entry.bytesReceived || 0, packetsReceived: entry.packetsReceived || 0,
          packetsLost: Math.max(0, entry.packetsLost || 0) }
        : { bytesSent: entry.bytesSent || 0, packetsSent: entry.packetsSent || 0,
          packetsLost: Math.max(0, (remote && remote.packetsLost) || 0) }),
      ...(entry.kind === 'video' && {
        frameRate: entry.framesPerSecond || 0, width: entry.frameWidth || 0, height: entry.frameHeight || 0,
        ...(incoming ? { framesDecoded: entry.framesDecoded || 0 } : { framesEncoded: entry.framesEncoded || 0 }) }),
    };
  });
  return stats;
}
