import type { LanguageModelV4TextPart } from '@ai-sdk/provider';
import type { StepContentPart } from '#libs/model-client/index.js';
import type { Row } from '../../platform/database/index.js';
import type { AttachmentPart } from '../attachments/index.js';

export type MessagePart = LanguageModelV4TextPart | StepContentPart | AttachmentPart;

/**
 * What a person wrote, or what the model answered in one step. Results of tools are kept with their calls. Messages of a
 * chat are read in the order of their runs, then in their own.
 */
export type StoredMessage = Row<'message'>;

declare global {
  interface ColumnTypes {
    'message.content': MessagePart[];
  }
}
