import { Entity, PrimaryKey, Property } from '@mikro-orm/decorators/legacy';
import { newId } from '../../platform/database/index.js';
import { defineTopic } from '../../platform/topics/index.js';

export const DEFAULT_TITLE = 'New Chat';

interface ChatFields {
  id?: string;
  title?: string;
  organizationId: string;
  workspaceId: string | null;
  agentName: string | null;
  model: string | null;
  createdBy: string;
}

/** A conversation of people with an agent. Without a workspace it has no files and no sandbox, and is its creator's. */
@Entity({ tableName: 'chat' })
export class Chat {
  @PrimaryKey({ type: 'uuid' })
  id: string;

  @Property({ type: 'text' })
  title: string;

  @Property({ type: 'uuid' })
  organizationId: string;

  @Property({ type: 'uuid', nullable: true })
  workspaceId: string | null;

  /** The subagent that answers in this chat; null: the default assistant. */
  @Property({ type: 'text', nullable: true })
  agentName: string | null;

  /** The model of its runs unless a message names another; null: the default. */
  @Property({ type: 'text', nullable: true })
  model: string | null;

  @Property({ type: 'boolean' })
  pinned: boolean = false;

  @Property({ type: 'boolean' })
  archived: boolean = false;

  @Property({ type: 'uuid' })
  createdBy: string;

  /** The run that handed over the task for which the chat is; null for a chat of people. */
  @Property({ type: 'uuid', nullable: true })
  taskOf: string | null = null;

  @Property({ type: 'timestamptz' })
  createdAt: Date = new Date();

  @Property({ type: 'timestamptz', onUpdate: () => new Date() })
  updatedAt: Date = new Date();

  @Property({ type: 'timestamptz', nullable: true })
  lastMessageAt: Date | null = null;

  constructor(fields: ChatFields) {
    this.id = fields.id ?? newId();
    this.title = fields.title?.trim() || DEFAULT_TITLE;
    this.organizationId = fields.organizationId;
    this.workspaceId = fields.workspaceId;
    this.agentName = fields.agentName;
    this.model = fields.model;
    this.createdBy = fields.createdBy;
  }
}

/** The topic that is signalled when a chat in which nothing was in flight has a run again, or is gone. */
export const chatTopic = defineTopic('chat');
