export { decide, nextDigest, quietUntil } from './preference.js';
export { PreferencesService } from './preferences.service.js';
export { type Habits, PreferencesStore } from './preferences.store.js';
