export { templateBlocked, templateFailed, templatePublished } from './records/template-events.js';
export { TemplatesModule } from './templates.module.js';
