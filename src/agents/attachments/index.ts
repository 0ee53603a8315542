export { attach, hashesIn, placeholderOf } from './attach.js';
export { type AttachmentPart, weightOf } from './attachment.js';
export { AttachmentsModule } from './attachments.module.js';
export { AttachmentsService, type NewAttachment } from './attachments.service.js';
export { AttachmentsStore, keepAttachments } from './attachments.store.js';
