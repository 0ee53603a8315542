import { PrimaryKeyProp } from '@mikro-orm/core';
import { Entity, PrimaryKey, Property } from '@mikro-orm/decorators/legacy';

export const RUN_EVENT_TYPES = [
  'run.queued',
  'run.started',
  'run.completed',
  'run.failed',
  'step.started',
  'step.restarted',
  'step.finished',
  'step.waiting',
  'model.fallback',
  'context.compacting',
  'context.compacted',
  'response.invalid',
  'text.delta',
  'reasoning.delta',
  'tool.started',
  'tool.output',
  'tool.finished',
  'file.changed',
  'message.accepted',
  'message.injected',
  'message.withdrawn',
  'approval.requested',
  'approval.resolved',
] as const;
export type RunEventType = (typeof RUN_EVENT_TYPES)[number];

/** Something that happened in a run, in the order it happened; stored before anyone is told. */
@Entity({ tableName: 'run_event' })
export class RunEvent {
  [PrimaryKeyProp]?: ['runId', 'id'];

  @PrimaryKey({ type: 'uuid' })
  runId: string;

  /** From 1, rising by one. */
  @PrimaryKey({ type: 'int' })
  id: number;

  @Property({ type: 'text' })
  type: RunEventType;

  @Property({ type: 'jsonb' })
  data: Record<string, unknown>;

  @Property({ type: 'timestamptz' })
  createdAt: Date;
}

/** The event types after which nothing follows. */
export const LAST_EVENTS: readonly RunEventType[] = ['run.completed', 'run.failed'];
