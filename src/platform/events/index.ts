export { defineEvent, Events } from './events.js';
