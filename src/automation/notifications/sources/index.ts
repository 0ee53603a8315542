import { ApprovalsSource } from './approvals.source.js';

/** What people are told of. */
export const sources = [ApprovalsSource];
