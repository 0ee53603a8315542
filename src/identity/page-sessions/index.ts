export { type OpenPage, PageSessions } from './page-sessions.js';
export { PageSessionsModule } from './page-sessions.module.js';
export { type PersonAtPage, PersonPages } from './person-pages.js';
export { SignInsStore } from './sign-ins.store.js';
