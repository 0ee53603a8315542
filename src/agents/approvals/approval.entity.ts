import { Entity, PrimaryKey, Property } from '@mikro-orm/decorators/legacy';
import type { Effect } from '../../platform/access/index.js';
import { newId } from '../../platform/database/index.js';

/** What is to be approved: a tool call of a run, or a call that an MCP client made. */
export const APPROVAL_SUBJECTS = ['run_tool_call', 'mcp_call'] as const;
export type ApprovalSubject = (typeof APPROVAL_SUBJECTS)[number];

/** pending until somebody decides, its time is over (expired), or it is of no use any more (cancelled). */
export const APPROVAL_STATUSES = ['pending', 'allowed', 'denied', 'expired', 'cancelled'] as const;
export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];

/** What is allowed: the one call, or this tool for the rest of its run. */
export const APPROVAL_SCOPES = ['once', 'run'] as const;
export type ApprovalScope = (typeof APPROVAL_SCOPES)[number];

/** A call that a person is asked about. It is decided once. */
@Entity({ tableName: 'approval' })
export class Approval {
  @PrimaryKey({ type: 'uuid' })
  id: string = newId();

  @Property({ type: 'text' })
  subjectKind: ApprovalSubject;

  @Property({ type: 'uuid', nullable: true })
  organizationId: string | null;

  @Property({ type: 'uuid', nullable: true })
  workspaceId: string | null;

  @Property({ type: 'uuid', nullable: true })
  chatId: string | null = null;

  /** The run that waits, and which of its calls it is. */
  @Property({ type: 'uuid', nullable: true })
  runId: string | null = null;

  @Property({ type: 'int', nullable: true })
  step: number | null = null;

  @Property({ type: 'int', nullable: true })
  position: number | null = null;

  @Property({ type: 'text', nullable: true })
  callId: string | null = null;

  /** The tool, or the action where `actions_run` runs one. */
  @Property({ type: 'text' })
  tool: string;

  @Property({ type: 'text' })
  effect: Effect;

  @Property({ type: 'jsonb', nullable: true })
  input: unknown;

  /** On whose authority the call is made. */
  @Property({ type: 'uuid' })
  requestedBy: string;

  /** What to call the MCP client that asks; null for a run. */
  @Property({ type: 'text', nullable: true })
  clientName: string | null = null;

  /** The credential that the client came with, and has to come with again. */
  @Property({ type: 'text', nullable: true })
  credentialId: string | null = null;

  @Property({ type: 'text' })
  status: ApprovalStatus = 'pending';

  @Property({ type: 'text', nullable: true })
  scope: ApprovalScope | null = null;

  /** What the person who decided wants to be known. */
  @Property({ type: 'text', nullable: true })
  note: string | null = null;

  @Property({ type: 'uuid', nullable: true })
  decidedBy: string | null = null;

  @Property({ type: 'timestamptz', nullable: true })
  decidedAt: Date | null = null;

  /** When the approval was used up: a call of an MCP client is made once with it. */
  @Property({ type: 'timestamptz', nullable: true })
  usedAt: Date | null = null;

  @Property({ type: 'timestamptz' })
  expiresAt: Date;

  @Property({ type: 'timestamptz' })
  createdAt: Date = new Date();
}
