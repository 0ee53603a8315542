export { type AttachmentPart, attach, hashesIn, placeholderOf, weightOf } from './attachment.js';
export { AttachmentsModule } from './attachments.module.js';
export { AttachmentsService, type NewAttachment } from './attachments.service.js';
export { AttachmentsStore, keepAttachments } from './attachments.store.js';
