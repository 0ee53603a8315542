import type { AuditEntry } from '../../platform/audit/index.js';
import type { Row } from '../../platform/database/index.js';

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

/** What the audit log says of a decision about a call. */
export function auditEntryOf(
  { id, tool, effect, run_id, organization_id, workspace_id }: ApprovalRow,
  decision: 'allow' | 'deny',
): AuditEntry {
  return {
    action: 'approval.decide',
    target_type: 'approval',
    target_id: id,
    organization_id,
    workspace_id: workspace_id ?? undefined,
    details: { decision, tool, effect, run_id },
  };
}
