export { InboxController } from './inbox.controller.js';
export { InboxService } from './inbox.service.js';
export { InboxStore } from './inbox.store.js';
