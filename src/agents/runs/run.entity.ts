import type { Opt } from '@mikro-orm/core';
import { Entity, PrimaryKey, Property } from '@mikro-orm/decorators/legacy';
import type { Actor } from '../../platform/access/index.js';
import { newId } from '../../platform/database/index.js';
import type { RunBudget } from './run-limits.js';

import type { RunState } from './run-state.js';

export type RunStatus = 'pending' | 'completed' | 'error';
/** How a message reaches its chat while a run is in flight there. */
export type Delivery = 'queue' | 'reject' | 'steer' | 'interrupt';
/** What becomes of a run whose call needs a person's approval. */
export type OnApproval = 'wait' | 'fail' | 'refuse';

/** Tokens of a run or a step; null where a provider does not say. */
export interface Usage {
  input_tokens: number | null;
  output_tokens: number | null;
  cache_read_tokens: number | null;
  cache_write_tokens: number | null;
  reasoning_tokens: number | null;
}

/** Why a run ended in failure, for people and for programs. */
export interface RunFault {
  message: string;
  type: string;
}

export const NO_USAGE: Usage = {
  input_tokens: null,
  output_tokens: null,
  cache_read_tokens: null,
  cache_write_tokens: null,
  reasoning_tokens: null,
};

/** One answer of an agent to one message: model calls and tool calls until it is done. */
@Entity({ tableName: 'run' })
export class Run {
  @PrimaryKey({ type: 'uuid' })
  id: string = newId();

  /** The order of the runs of a chat: as they were accepted, until those that wait are put in another. */
  @Property({ type: 'bigint', autoincrement: true, generated: 'always as identity', unique: true })
  number: string & Opt;

  @Property({ type: 'uuid' })
  chatId: string;

  @Property({ type: 'uuid' })
  organizationId: string;

  @Property({ type: 'uuid', nullable: true })
  workspaceId: string | null;

  @Property({ type: 'text' })
  status: RunStatus = 'pending';

  @Property({ type: 'text' })
  state: RunState = 'queued';

  @Property({ type: 'text', nullable: true })
  agentName: string | null;

  /** The model asked for. */
  @Property({ type: 'text' })
  model: string;

  /** The model that answered, as its provider names it. */
  @Property({ type: 'text', nullable: true })
  modelUsed: string | null = null;

  @Property({ type: 'uuid' })
  createdBy: string;

  /** On whose authority its tools act, checked again at every call. */
  @Property({ type: 'jsonb' })
  actor: Actor;

  /** It waits for a worker. */
  @Property({ type: 'boolean' })
  due: boolean = false;

  /** The process that carries it. */
  @Property({ type: 'uuid', nullable: true })
  holder: string | null = null;

  /** Whether a key, a membership or a role that it rests on may have changed since it was started. */
  @Property({ type: 'boolean' })
  authorityChanged: boolean = false;

  /** How often a worker took it up; writes of an earlier attempt are refused. */
  @Property({ type: 'int' })
  attempt: number = 0;

  /** How many workers died, or lost the database, while they worked on it. */
  @Property({ type: 'int' })
  lost: number = 0;

  @Property({ type: 'int' })
  stepCount: number = 0;

  @Property({ type: 'int' })
  lastEvent: number = 0;

  @Property({ type: 'text', nullable: true })
  stopReason: string | null = null;

  @Property({ type: 'jsonb', nullable: true })
  error: RunFault | null = null;

  @Property({ type: 'text', nullable: true })
  response: string | null = null;

  /** What its answer must be valid against, a JSON Schema. */
  @Property({ type: 'json', nullable: true })
  responseSchema: Record<string, unknown> | null = null;

  /** The answer that is valid against it, in an object of its own as it may be null. */
  @Property({ type: 'json', nullable: true })
  responseJson: { value: unknown } | null = null;

  /** Models that are asked, in this order, where the one asked for cannot answer. */
  @Property({ type: 'text[]' })
  fallbackModels: string[] = [];

  @Property({ type: 'jsonb' })
  usage: Usage = NO_USAGE;

  /** What it may use, as its sender set it. */
  @Property({ type: 'jsonb', nullable: true })
  budget: RunBudget | null = null;

  /** USD; null where a price is not known. */
  @Property({ type: 'double', nullable: true })
  costUsd: number | null = null;

  @Property({ type: 'text' })
  delivery: Delivery = 'queue';

  /** null: as the workspace's policy has it. */
  @Property({ type: 'text', nullable: true })
  onApproval: OnApproval | null = null;

  /** The run that its message is to enter; once that has ended, this one waits like any other. */
  @Property({ type: 'uuid', nullable: true })
  steersRunId: string | null = null;

  /** How many messages wait to enter this run. */
  @Property({ type: 'int' })
  steers: number = 0;

  /** The run that has taken its message in, and with which it ends. */
  @Property({ type: 'uuid', nullable: true })
  mergedInto: string | null = null;

  /** The step before which its message was taken in. */
  @Property({ type: 'int', nullable: true })
  mergedStep: number | null = null;

  /** Since when it waits for somebody's approval. */
  @Property({ type: 'timestamptz', nullable: true })
  waitingSince: Date | null = null;

  /** How long it has waited for approvals; a number, as text. */
  @Property({ type: 'bigint' })
  waitedMs: string = '0';

  /** The run that handed it over as a task; null for one that answers a message. */
  @Property({ type: 'uuid', nullable: true })
  parentId: string | null = null;

  /** The tool call of its parent whose result it is. */
  @Property({ type: 'int', nullable: true })
  parentStep: number | null = null;

  @Property({ type: 'int', nullable: true })
  parentPosition: number | null = null;

  /** How many tasks it has started through actions. */
  @Property({ type: 'int' })
  requestedTasks: number = 0;

  /** How many runs are above it. */
  @Property({ type: 'int' })
  depth: number = 0;

  /** The allowlists of those above it, each of which must allow what it calls. */
  @Property({ type: 'jsonb' })
  toolsAbove: readonly (readonly string[])[] = [];

  @Property({ type: 'timestamptz' })
  createdAt: Date = new Date();

  @Property({ type: 'timestamptz', nullable: true })
  startedAt: Date | null = null;

  @Property({ type: 'timestamptz', nullable: true })
  finishedAt: Date | null = null;
}
