export { defineEvent, type EventKind, Events } from './events.js';
