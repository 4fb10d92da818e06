/** What event handlers get; the fields of the particular event are added to it. */
class OTEvent {
  constructor(type, target, fields, cancelable) {
    this.type = type;
    this.target = target;
    this.cancelable = cancelable;
    Object.assign(this, fields);
    Object.defineProperty(this, '_prevented', { value: false, writable: true });
  }

  preventDefault() {
    if (this.cancelable) this._prevented = true;
    else log.warn(`${this.type}: preventDefault() has no effect on this event`);
  }

  isDefaultPrevented() {
    return this._prevented;
  }
}

/** on, once and off, each with `('a b', handler, context)` or `({a: handler, b: handler}, context)`. */
class EventEmitter {
  constructor() {
    Object.defineProperty(this, '_handlers', { value: new Map() });
  }

  on(names, handler, context) {
    return this._add(names, handler, context, false);
  }

  once(names, handler, context) {
    return this._add(names, handler, context, true);
  }

  /** Without arguments removes all handlers; with names only, all handlers of those events. */
  off(names, handler, context) {
    if (names === undefined) {
      this._handlers.clear();
      return this;
    }
    for (const [name, unwanted, owner] of pairs(names, handler, context)) {
      const kept = (this._handlers.get(name) || []).filter((entry) =>
        (unwanted && entry.handler !== unwanted) || (owner && entry.context !== owner));
      this._handlers.set(name, kept);
    }
    return this;
  }

  addEventListener(name, handler, context) {
    return this.on(name, handler, context);
  }

  removeEventListener(name, handler, context) {
    return this.off(name, handler, context);
  }

  _add(names, handler, context, once) {
    for (const [name, added, owner] of pairs(names, handler, context)) {
      if (typeof added !== 'function') {
        throw otError(1011, `on/once: the handler of "${name}" is no function`);
      }
      const entries = this._handlers.get(name) || [];
      this._handlers.set(name, [...entries, { handler: added, context: owner, once }]);
    }
    this._handlerAdded();
    return this;
  }

  /** A hook: somebody listens now. */
  _handlerAdded() {}

  _hasHandler(name) {
    return (this._handlers.get(name) || []).length > 0;
  }

  /**
   * Sends an event to the page, later, in order.
   * @param {string} type
   * @param {object} [fields] of the event
   * @param {() => void} [defaultAction] run after the handlers unless one prevents it
   * @param {string[]} [names] under which handlers may have registered, if not only `type`
   */
  _emit(type, fields, defaultAction, names = [type]) {
    const event = new OTEvent(type, this, fields, Boolean(defaultAction));
    queueMicrotask(() => {
      for (const name of names) {
        for (const entry of this._handlers.get(name) || []) {
          if (entry.once) {
            this._handlers.set(name, this._handlers.get(name).filter((other) => other !== entry));
          }
          callPage(entry.handler, entry.context || this, event);
        }
      }
      if (defaultAction && !event.isDefaultPrevented()) defaultAction();
    });
  }
}

/** Both forms of on/once/off as a list of [name, handler, context]. */
function pairs(names, handler, context) {
  if (typeof names === 'object') {
    return Object.entries(names).map(([name, each]) => [name, each, handler || context]);
  }
  return String(names).split(/\s+/).filter(Boolean).map((name) => [name, handler, context]);
}

/** `session.streams` and `session.connections`. */
class Collection {
  constructor() {
    Object.defineProperty(this, '_items', { value: new Map() });
  }

  get(id) { return this._items.get(id); }
  has(id) { return this._items.has(id); }
  length() { return this._items.size; }
  forEach(visit, context) { [...this._items.values()].forEach(visit, context); }
  map(transform, context) { return [...this._items.values()].map(transform, context); }
  find(test) { return this.where(test)[0]; }

  /** The items for which a function is true, or which have the given properties. */
  where(test) {
    const matches = typeof test === 'function'
      ? test
      : (item) => Object.entries(test || {}).every(([key, value]) => item[key] === value);
    return [...this._items.values()].filter((item) => matches(item));
  }
}
