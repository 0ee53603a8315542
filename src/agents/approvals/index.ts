export type { ApprovalRow } from './approval.js';
export {
  ApprovalPolicies,
  type ApprovalPolicy,
  DEFAULT_POLICY,
  PolicyWatch,
} from './approval-policies.store.js';
export { ApprovalRequests, type CallToApprove } from './approval-requests.js';
export { ApprovalWording } from './approval-wording.js';
export { WaitingForView } from './approvals.dto.js';
export {
  approvalAsked,
  approvalExpired,
  approvalOpened,
  approvalReminded,
  approvalResolved,
  approvalResolving,
} from './approvals.events.js';
export { ApprovalsModule } from './approvals.module.js';
export { ApprovalsStore, type AskedCall, askApprovals } from './approvals.store.js';
