import { Run } from './agent/run.entity.js';
import { RunEvent } from './agent/run-event.entity.js';
import { RunStep } from './agent/run-step.entity.js';
import { ToolCall } from './agent/tool-call.entity.js';
import { Approval } from './approvals/approval.entity.js';
import { Chat } from './chats/chat.entity.js';
import { Message } from './chats/message.entity.js';

export { RunsService } from './agent/runs.service.js';
export { AgentModule } from './agent.module.js';
export type { Approval } from './approvals/approval.entity.js';
export { ApprovalRequests, type CallToApprove } from './approvals/approval-requests.js';
export { ApprovalWording } from './approvals/approval-wording.js';
export { SubagentsService } from './subagents/subagents.service.js';

export const agentEntities = [Chat, Message, Run, RunStep, ToolCall, RunEvent, Approval];
