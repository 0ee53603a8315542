import type { AuditEntry } from '../../platform/audit/index.js';
import type { ApprovalRow } from './approval.js';

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
