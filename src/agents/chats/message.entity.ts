import type { LanguageModelV4TextPart } from '@ai-sdk/provider';
import type { Opt } from '@mikro-orm/core';
import { Entity, PrimaryKey, Property } from '@mikro-orm/decorators/legacy';
import type { StepContentPart } from '#libs/model-client/index.js';
import { newId } from '../../platform/database/index.js';
import type { AttachmentPart } from '../attachments/index.js';

export type MessagePart = LanguageModelV4TextPart | StepContentPart | AttachmentPart;

/** What a person wrote, or what the model answered in one step. Results of tools are kept with their calls. */
@Entity({ tableName: 'message' })
export class Message {
  @PrimaryKey({ type: 'uuid' })
  id: string = newId();

  @Property({ type: 'uuid' })
  chatId: string;

  @Property({ type: 'uuid' })
  runId: string;

  /** Its run's number: messages of a chat are read in the order of their runs, then in their own. */
  @Property({ type: 'bigint' })
  runNumber: string;

  @Property({ type: 'bigint', autoincrement: true, generated: 'always as identity' })
  number: string & Opt;

  @Property({ type: 'text' })
  role: 'user' | 'assistant';

  /** The step of the run that gave this answer; null for what a person wrote. */
  @Property({ type: 'int', nullable: true })
  step: number | null = null;

  /** The id of the model that gave this answer; what its provider signed is for that model alone. */
  @Property({ type: 'text', nullable: true })
  model: string | null = null;

  @Property({ type: 'jsonb' })
  content: MessagePart[];

  @Property({ type: 'timestamptz' })
  createdAt: Date = new Date();
}
