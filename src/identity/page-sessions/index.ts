export { type Front, Fronts } from './front.js';
export { PageSessionsModule } from './page-sessions.module.js';
export { SignIns } from './sign-ins.store.js';
