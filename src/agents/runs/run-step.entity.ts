import { PrimaryKeyProp } from '@mikro-orm/core';
import { Entity, PrimaryKey, Property } from '@mikro-orm/decorators/legacy';
import type { Usage } from './run.entity.js';

/** One finished model call of a run. */
@Entity({ tableName: 'run_step' })
export class RunStep {
  [PrimaryKeyProp]?: ['runId', 'number'];

  @PrimaryKey({ type: 'uuid' })
  runId: string;

  /** From 1. */
  @PrimaryKey({ type: 'int' })
  number: number;

  @Property({ type: 'text' })
  finishReason: string;

  @Property({ type: 'text', nullable: true })
  modelUsed: string | null;

  @Property({ type: 'jsonb' })
  usage: Usage;

  @Property({ type: 'double', nullable: true })
  costUsd: number | null;

  @Property({ type: 'timestamptz' })
  startedAt: Date;

  @Property({ type: 'timestamptz' })
  finishedAt: Date;
}
