export { MailChannel } from './mail-channel.js';
export { UnsubscribePageController } from './unsubscribe-page.controller.js';
export { Unsubscribing } from './unsubscribing.service.js';
