export { templateBlocked, templateFailed, templatePublished } from './template-events.js';
export { TemplatesModule } from './templates.module.js';
