// Type declarations of otchat's opentok.js: what it has of the OpenTok.js API.
// `OT` is a global where a script tag loads the library, and what `require` gives.

declare namespace OT {
  type Handler<T extends unknown[] = []> = (error?: OTError, ...results: T) => void;
  /** An element or its id. */
  type Target = HTMLElement | string | null;

  interface OTError extends Error {
    /** `OT_…` */
    name: string;
    code: number;
  }

  // ---- Events

  interface Event<Type extends string = string, Source = unknown> {
    readonly type: Type;
    readonly target: Source;
    readonly cancelable: boolean;
    preventDefault(): void;
    isDefaultPrevented(): boolean;
  }

  class EventEmitter<Events> {
    on<Name extends keyof Events & string>(name: Name, handler: (event: Events[Name]) => void, context?: object): this;
    on(names: string, handler: (event: any) => void, context?: object): this;
    on(handlers: { [name: string]: (event: any) => void }, context?: object): this;
    once<Name extends keyof Events & string>(name: Name, handler: (event: Events[Name]) => void, context?: object): this;
    once(names: string, handler: (event: any) => void, context?: object): this;
    once(handlers: { [name: string]: (event: any) => void }, context?: object): this;
    off(names?: string | object, handler?: ((event: any) => void) | null, context?: object): this;
    addEventListener(name: string, handler: (event: any) => void, context?: object): this;
    removeEventListener(name: string, handler: (event: any) => void, context?: object): this;
  }

  interface SessionEvents {
    archiveStarted: Event<'archiveStarted', Session> & { id: string; name: string };
    archiveStopped: Event<'archiveStopped', Session> & { id: string; name: string };
    archiveUpdated: Event<'archiveUpdated', Session> & { id: string; name: string; status: string };
    connectionCreated: Event<'connectionCreated', Session> & { connection: Connection };
    connectionDestroyed: Event<'connectionDestroyed', Session> & { connection: Connection; reason: string };
    muteForced: Event<'muteForced', Session> & { active: boolean };
    sessionConnected: Event<'sessionConnected', Session> & { connections: Connection[]; streams: Stream[] };
    sessionDisconnected: Event<'sessionDisconnected', Session> & { reason: string };
    sessionReconnecting: Event<'sessionReconnecting', Session>;
    sessionReconnected: Event<'sessionReconnected', Session>;
    /** Of one type: `on('signal:TYPE', …)`. */
    signal: Event<string, Session> & { data?: string; from: Connection | null };
    streamCreated: Event<'streamCreated', Session> & { stream: Stream };
    streamDestroyed: Event<'streamDestroyed', Session> & { stream: Stream; reason: string };
    streamPropertyChanged: Event<'streamPropertyChanged', Session> & {
      stream: Stream; changedProperty: string; oldValue: any; newValue: any };
  }

  interface ViewEvents<Source> {
    audioLevelUpdated: Event<'audioLevelUpdated', Source> & { audioLevel: number };
    destroyed: Event<'destroyed', Source> & { reason: string };
    videoDimensionsChanged: Event<'videoDimensionsChanged', Source> & { oldValue: Dimensions; newValue: Dimensions };
    videoElementCreated: Event<'videoElementCreated', Source> & { element: HTMLVideoElement };
  }

  interface PublisherEvents extends ViewEvents<Publisher> {
    accessAllowed: Event<'accessAllowed', Publisher>;
    accessDenied: Event<'accessDenied', Publisher>;
    accessDialogOpened: Event<'accessDialogOpened', Publisher>;
    accessDialogClosed: Event<'accessDialogClosed', Publisher>;
    mediaStopped: Event<'mediaStopped', Publisher> & { track: MediaStreamTrack };
    muteForced: Event<'muteForced', Publisher>;
    streamCreated: Event<'streamCreated', Publisher> & { stream: Stream };
    streamDestroyed: Event<'streamDestroyed', Publisher> & { stream: Stream; reason: string };
  }

  interface SubscriberEvents extends ViewEvents<Subscriber> {
    audioBlocked: Event<'audioBlocked', Subscriber>;
    audioUnblocked: Event<'audioUnblocked', Subscriber>;
    connected: Event<'connected', Subscriber>;
    disconnected: Event<'disconnected', Subscriber>;
    videoDisabled: Event<'videoDisabled', Subscriber> & { reason: string };
    videoEnabled: Event<'videoEnabled', Subscriber> & { reason: string };
    videoDisableWarning: Event<'videoDisableWarning', Subscriber>;
    videoDisableWarningLifted: Event<'videoDisableWarningLifted', Subscriber>;
  }

  // ---- What is in a session

  interface Dimensions { width: number; height: number }

  interface Connection {
    readonly id: string;
    readonly connectionId: string;
    readonly creationTime: number;
    readonly data: string;
    readonly permissions: string[];
  }

  interface Stream {
    readonly id: string;
    readonly streamId: string;
    readonly name: string;
    readonly creationTime: number;
    readonly connection: Connection;
    readonly initials: string;
    readonly hasAudio: boolean;
    readonly hasVideo: boolean;
    readonly hasCaptions: boolean;
    readonly videoType?: 'camera' | 'screen' | 'custom';
    readonly videoDimensions: Dimensions;
    readonly frameRate?: number;
  }

  /** 1 where the token allows it, else 0. */
  interface Capabilities {
    readonly publish: number;
    readonly subscribe: number;
    readonly signal: number;
    readonly forceDisconnect: number;
    readonly forceUnpublish: number;
    readonly forceMute: number;
    readonly supportsWebRTC: number;
    permittedTo(name: string): boolean;
  }

  interface Collection<Item> {
    get(id: string): Item | undefined;
    has(id: string): boolean;
    length(): number;
    forEach(visit: (item: Item, index: number) => void, context?: object): void;
    map<Result>(transform: (item: Item, index: number) => Result, context?: object): Result[];
    find(test: ((item: Item) => boolean) | Partial<Item>): Item | undefined;
    where(test?: ((item: Item) => boolean) | Partial<Item>): Item[];
  }

  interface IceConfig {
    includeServers?: 'all' | 'custom';
    transportPolicy?: 'all' | 'relay';
    customServers?: RTCIceServer[];
  }

  interface SessionOptions {
    connectionEventsSuppressed?: boolean;
    iceConfig?: IceConfig;
  }

  interface Signal {
    type?: string;
    data?: string;
    to?: Connection;
    retryAfterReconnect?: boolean;
  }

  class Session extends EventEmitter<SessionEvents> {
    private constructor();
    readonly apiKey: string;
    readonly id: string;
    readonly sessionId: string;
    readonly connection?: Connection;
    readonly capabilities: Capabilities;
    readonly connections: Collection<Connection>;
    readonly streams: Collection<Stream>;
    readonly currentState: 'disconnected' | 'connecting' | 'connected' | 'reconnecting';
    isConnected(): boolean;
    is(...states: string[]): boolean;
    connect(token: string, handler?: Handler): this;
    disconnect(): void;
    publish(publisher: Publisher, handler?: Handler<[Publisher]>): Publisher;
    publish(target?: Target, properties?: PublisherProperties, handler?: Handler<[Publisher]>): Publisher;
    unpublish(publisher: Publisher): void;
    getPublisherForStream(stream: Stream | string): Publisher | undefined;
    subscribe(stream: Stream, target?: Target, properties?: SubscriberProperties, handler?: Handler<[Subscriber]>): Subscriber | undefined;
    unsubscribe(subscriber: Subscriber): void;
    getSubscribersForStream(stream: Stream | string): Subscriber[];
    signal(signal: Signal, handler?: Handler): void;
    forceDisconnect(connection: Connection | string, handler?: Handler): void;
    forceUnpublish(stream: Stream | string, handler?: Handler): void;
    forceMuteStream(stream: Stream | string): Promise<void>;
    forceMuteAll(excludedStreams?: (Stream | string)[]): Promise<void>;
    disableForceMute(): Promise<void>;
    setIceConfig(config: IceConfig): Promise<void>;
  }

  // ---- Publishing and subscribing

  interface Style {
    nameDisplayMode?: 'auto' | 'on' | 'off';
    buttonDisplayMode?: 'auto' | 'on' | 'off';
    videoDisabledDisplayMode?: 'auto' | 'on' | 'off';
    audioLevelDisplayMode?: 'auto' | 'on' | 'off';
    backgroundImageURI?: string;
  }

  interface ViewProperties {
    insertDefaultUI?: boolean;
    insertMode?: 'replace' | 'append' | 'before' | 'after';
    fitMode?: 'cover' | 'contain';
    width?: number | string;
    height?: number | string;
    showControls?: boolean;
    style?: Style;
  }

  /** Stands between a source and what is sent. */
  interface MediaProcessorConnector {
    setTrack(track: MediaStreamTrack): Promise<MediaStreamTrack>;
    destroy?(): Promise<void> | void;
  }

  /** Of the whole picture. `radius` in pixels, of `blur`. */
  interface VideoFilter { type: 'blur' | 'grayscale' | 'invert' | 'sepia'; radius?: number }

  type VideoContentHint = '' | 'motion' | 'detail' | 'text';

  interface PublisherProperties extends ViewProperties {
    name?: string;
    initials?: string;
    mirror?: boolean;
    publishAudio?: boolean;
    publishVideo?: boolean;
    /** A device id, a track, or null for none. */
    audioSource?: string | MediaStreamTrack | null | boolean;
    videoSource?: string | MediaStreamTrack | null | boolean;
    facingMode?: 'user' | 'environment';
    /** `640x480` and the like. */
    resolution?: string;
    frameRate?: number;
    videoType?: 'camera' | 'screen' | 'custom';
    videoContentHint?: VideoContentHint;
    audioBitrate?: number;
    enableStereo?: boolean;
    enableDtx?: boolean;
    disableAudioProcessing?: boolean;
    echoCancellation?: boolean;
    noiseSuppression?: boolean;
    autoGainControl?: boolean;
  }

  interface SubscriberProperties extends ViewProperties {
    subscribeToAudio?: boolean;
    subscribeToVideo?: boolean;
    /** 0 to 100 */
    audioVolume?: number;
    testNetwork?: boolean;
    preferredResolution?: Dimensions | 'auto';
    preferredFrameRate?: number;
  }

  interface AudioStats { packetsLost: number; bytesReceived?: number; packetsReceived?: number; bytesSent?: number; packetsSent?: number }
  interface VideoStats extends AudioStats {
    frameRate: number; width: number; height: number; framesDecoded?: number; framesEncoded?: number }
  interface Stats { timestamp: number; audio?: AudioStats; video?: VideoStats }
  interface PublisherStats { connectionId: string; subscriberId: string; stats: Stats }
  interface PublisherReport { connectionId: string; subscriberId: string; rtcStatsReport: RTCStatsReport }

  class Publisher extends EventEmitter<PublisherEvents> {
    private constructor();
    readonly accessAllowed: boolean;
    readonly properties: PublisherProperties;
    readonly element?: HTMLElement;
    readonly id?: string;
    readonly session?: Session;
    readonly stream?: Stream;
    publishAudio(value: boolean): this;
    publishVideo(value: boolean, handler?: Handler): this;
    cycleVideo(): Promise<{ deviceId: string }>;
    setVideoSource(deviceId: string): Promise<void>;
    setAudioSource(source: string | MediaStreamTrack): Promise<void>;
    getAudioSource(): MediaStreamTrack | undefined;
    getVideoSource(): { deviceId: string | null; type: string | null; track: MediaStreamTrack | null };
    videoWidth(): number | undefined;
    videoHeight(): number | undefined;
    /** Base64 of a PNG. */
    getImgData(): string | null;
    getStyle(): Style;
    getStyle<Key extends keyof Style>(key: Key): Style[Key];
    setStyle(style: Style): this;
    setStyle<Key extends keyof Style>(key: Key, value: Style[Key]): this;
    getStats(handler: Handler<[PublisherStats[]]>): void;
    getRtcStatsReport(): Promise<PublisherReport[]>;
    setVideoMediaProcessorConnector(connector: MediaProcessorConnector | null): Promise<void>;
    setAudioMediaProcessorConnector(connector: MediaProcessorConnector | null): Promise<void>;
    /** OT_NOT_SUPPORTED for other types. */
    applyVideoFilter(filter: VideoFilter): Promise<void>;
    clearVideoFilter(): Promise<void>;
    getVideoFilter(): VideoFilter | null;
    setVideoContentHint(hint: VideoContentHint): void;
    getVideoContentHint(): VideoContentHint;
    /** Refused: OT_NOT_SUPPORTED. */
    publishCaptions(value: boolean): Promise<void>;
    destroy(): this;
  }

  class Subscriber extends EventEmitter<SubscriberEvents> {
    private constructor();
    readonly element?: HTMLElement;
    readonly id?: string;
    readonly session: Session;
    readonly stream: Stream;
    readonly streamId: string;
    readonly properties: SubscriberProperties;
    subscribeToAudio(value: boolean): this;
    subscribeToVideo(value: boolean, handler?: Handler): this;
    /** 0 to 100 */
    setAudioVolume(volume: number): this;
    getAudioVolume(): number;
    isAudioBlocked(): boolean;
    /** These three: of publishers on this library. */
    setPreferredResolution(resolution: Dimensions | 'auto' | null): void;
    setPreferredFrameRate(frameRate: number | 'auto' | null): void;
    restrictFrameRate(value: boolean): void;
    videoWidth(): number | undefined;
    videoHeight(): number | undefined;
    /** Base64 of a PNG. */
    getImgData(): string | null;
    getStyle(): Style;
    getStyle<Key extends keyof Style>(key: Key): Style[Key];
    setStyle(style: Style): this;
    setStyle<Key extends keyof Style>(key: Key, value: Style[Key]): this;
    getStats(handler: Handler<[Stats]>): void;
    getRtcStatsReport(): Promise<RTCStatsReport>;
  }

  // ---- OT itself

  interface Device { kind: 'audioInput' | 'videoInput'; deviceId: string; label: string }
  interface AudioOutputDevice { deviceId: string; label: string }
  interface ScreenSharingCapability {
    supported: boolean;
    supportedSources: { screen: boolean; application: boolean; window: boolean };
    extensionRequired?: string;
    extensionRegistered?: boolean;
    extensionInstalled?: boolean;
  }

  const properties: { version: string };
  const NONE: number;
  const ERROR: number;
  const WARN: number;
  const INFO: number;
  const LOG: number;
  const DEBUG: number;
  function initSession(apiKey: string | number, sessionId: string, options?: SessionOptions): Session;
  function initPublisher(target?: Target, properties?: PublisherProperties, handler?: Handler<[Publisher]>): Publisher;
  function checkSystemRequirements(): number;
  function upgradeSystemRequirements(): void;
  function getDevices(handler: Handler<[Device[]]>): void;
  function getUserMedia(properties?: PublisherProperties): Promise<MediaStream>;
  function getAudioOutputDevices(): Promise<AudioOutputDevice[]>;
  function setAudioOutputDevice(deviceId: string): Promise<void>;
  function unblockAudio(): Promise<void>;
  function checkScreenSharingCapability(handler: (response: ScreenSharingCapability) => void): void;
  function getSupportedCodecs(): Promise<{ videoEncoders: string[]; videoDecoders: string[] }>;
  function hasMediaProcessorSupport(): boolean;
  function hasEndToEndEncryptionSupport(): boolean;
  function reportIssue(handler: Handler): void;
  function setProxyUrl(url: string): void;
  function setLogLevel(level: number): number;
  function log(...words: unknown[]): void;
  function on(names: string | { [name: string]: (event: any) => void }, handler?: (event: any) => void, context?: object): void;
  function once(names: string | { [name: string]: (event: any) => void }, handler?: (event: any) => void, context?: object): void;
  function off(names?: string | object, handler?: ((event: any) => void) | null, context?: object): void;
  function addEventListener(name: string, handler: (event: any) => void, context?: object): void;
  function removeEventListener(name: string, handler: (event: any) => void, context?: object): void;
}

export = OT;
export as namespace OT;
