import { PrimaryKeyProp } from '@mikro-orm/core';
import { Entity, PrimaryKey, Property } from '@mikro-orm/decorators/legacy';

/** planned: asked for by the model; started: may have happened; finished: its result is known. */
export type ToolCallState = 'planned' | 'started' | 'finished';

/** One call of a tool. It is marked as started before it happens, so that a crash never repeats it unawares. */
@Entity({ tableName: 'tool_call' })
export class ToolCall {
  [PrimaryKeyProp]?: ['runId', 'step', 'position'];

  @PrimaryKey({ type: 'uuid' })
  runId: string;

  @PrimaryKey({ type: 'int' })
  step: number;

  /** Place among the calls of its step, from 0. */
  @PrimaryKey({ type: 'int' })
  position: number;

  /** The model's own id for it. */
  @Property({ type: 'text' })
  callId: string;

  @Property({ type: 'text' })
  tool: string;

  @Property({ type: 'jsonb', nullable: true })
  input: unknown;

  @Property({ type: 'text', nullable: true })
  output: string | null;

  @Property({ type: 'boolean' })
  isError: boolean;

  @Property({ type: 'text' })
  state: ToolCallState;

  @Property({ type: 'timestamptz', nullable: true })
  startedAt: Date | null;

  @Property({ type: 'timestamptz', nullable: true })
  finishedAt: Date | null;
}
