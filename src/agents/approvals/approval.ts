import type { Actor } from '../../platform/access/index.js';
import type { Audit } from '../../platform/audit/index.js';
import type { Row, UnitOfWork } from '../../platform/database/index.js';

/** What is to be approved: a tool call of a run, or a call that an MCP client made. */
export const APPROVAL_SUBJECTS = ['run_tool_call', 'mcp_call'] as const;

/** pending until a person decides, its time is over (expired), or it is of no use any more (cancelled). */
export const APPROVAL_STATUSES = ['pending', 'allowed', 'denied', 'expired', 'cancelled'] as const;
export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];

/** What is allowed: the one call, or this tool for the rest of its run. */
export const APPROVAL_SCOPES = ['once', 'run'] as const;
export type ApprovalScope = (typeof APPROVAL_SCOPES)[number];

/**
 * A call that a person is asked about. It is decided once. `tool` is the tool, or the action where `actions_run` runs one; a
 * call of an MCP client is made once with its approval (`used_at`), with the credential that it came with.
 */
export type ApprovalRow = Row<'approval'>;

/** Writes a decision about a call into the audit log. */
export function recordDecision(
  audit: Audit,
  unit: UnitOfWork,
  actor: Actor,
  { id, tool, effect, run_id, organization_id, workspace_id }: ApprovalRow,
  decision: 'allow' | 'deny',
): Promise<void> {
  const target = { type: 'approval', id, organization_id, workspace_id };
  return audit.record(unit, actor, 'approval.decide', target, { decision, tool, effect, run_id });
}
