import { Controller, Get, Patch, Post } from '@nestjs/common';
import { type Actor, Caller } from '../../platform/access/index.js';
import { Input } from '../../platform/dto/index.js';
import { Serves } from '../../platform/openapi/index.js';
import { ApprovalPoliciesService } from './approval-policies.service.js';
import {
  ApprovalId,
  DecideApproval,
  ListApprovals,
  ReadApprovalPolicy,
  UpdateApprovalPolicy,
} from './approvals.dto.js';
import { ApprovalsService } from './approvals.service.js';

@Controller()
export class ApprovalsController {
  constructor(
    private readonly approvals: ApprovalsService,
    private readonly policies: ApprovalPoliciesService,
  ) {}

  @Serves(ApprovalsService, 'list')
  @Get('/api/agent/approvals')
  list(@Caller() actor: Actor, @Input() input: ListApprovals) {
    return this.approvals.list(actor, input);
  }

  @Serves(ApprovalsService, 'read')
  @Get('/api/agent/approvals/:approvalId')
  read(@Caller() actor: Actor, @Input() input: ApprovalId) {
    return this.approvals.read(actor, input);
  }

  @Serves(ApprovalsService, 'decide')
  @Post('/api/agent/approvals/:approvalId')
  decide(@Caller() actor: Actor, @Input() input: DecideApproval) {
    return this.approvals.decide(actor, input);
  }

  @Serves(ApprovalPoliciesService, 'read')
  @Get('/api/workspaces/:workspaceId/approval-policy')
  readPolicy(@Caller() actor: Actor, @Input() input: ReadApprovalPolicy) {
    return this.policies.read(actor, input);
  }

  @Serves(ApprovalPoliciesService, 'update')
  @Patch('/api/workspaces/:workspaceId/approval-policy')
  updatePolicy(@Caller() actor: Actor, @Input() input: UpdateApprovalPolicy) {
    return this.policies.update(actor, input);
  }
}
