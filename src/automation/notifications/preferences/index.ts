export { decide, nextDigest, quietUntil } from './preference.js';
export { type Habits, PreferencesStore } from './preferences.store.js';
