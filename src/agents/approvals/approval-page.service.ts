import { Injectable } from '@nestjs/common';
import { validate as isUuid } from 'uuid';
import { OrganizationsStore } from '../../identity/organizations/index.js';
import type { Actor } from '../../platform/access/index.js';
import { problemIn } from '../../platform/errors/index.js';
import type { ApprovalRow } from './approval.js';
import { ApprovalAccess } from './approval-access.js';
import { type Settled, standingOf, type ToDecide } from './approval-page.js';
import { ApprovalWording } from './approval-wording.js';
import { ApprovalsService } from './approvals.service.js';
import { type ApprovalNames, ApprovalsStore } from './approvals.store.js';

/** What a person finds who looks at a question. */
export type Looked = { readonly standing: 'open'; readonly asked: ToDecide } | Settled;

interface FoundQuestion {
  readonly question: ApprovalRow;
  readonly names: ApprovalNames;
  readonly mayDecide: boolean;
  readonly now: Date;
}

const UNKNOWN = { standing: 'unknown' } as const;

/** The page on which a person looks at an approval and decides it. */
@Injectable()
export class ApprovalPageService {
  constructor(
    private readonly store: ApprovalsStore,
    private readonly approvals: ApprovalsService,
    private readonly access: ApprovalAccess,
    private readonly wording: ApprovalWording,
    private readonly organizations: OrganizationsStore,
  ) {}

  async look(person: Actor, id: string): Promise<Looked> {
    const found = await this.find(person, id);
    if (!found) return UNKNOWN;
    const { question, names, now } = found;
    const standing = standingOf(question, now);
    if (standing === 'open') return { standing, asked: this.describe(found) };
    const decider = question.decided_by === person.id ? undefined : names.decider;
    return { standing, isOfRun: question.subject_kind === 'run_tool_call', decider };
  }

  /** Does nothing where this person has nothing to decide, or another has decided. */
  async decide(person: Actor, id: string, decision: 'allow' | 'deny'): Promise<void> {
    const found = await this.find(person, id);
    if (found?.mayDecide && standingOf(found.question, found.now) === 'open')
      await this.approvals.settle(person, found.question, { decision });
  }

  /** The question, where the person may look at it. */
  private async find(person: Actor, id: string): Promise<FoundQuestion | undefined> {
    const question = isUuid(id) ? await this.store.find(id) : undefined;
    const names = question && (await this.store.namesFor(question));
    if (!question || !names) return undefined;
    const role = await this.roleOf(person, question, names);
    if (!role) return undefined;
    return { question, names, mayDecide: role === 'decides', now: await this.store.databaseTime() };
  }

  /** For the client of a service account, those who manage service accounts in its organization may decide, too. */
  private async roleOf(
    person: Actor,
    question: ApprovalRow,
    { account_organization_id: organization }: ApprovalNames,
  ): Promise<'decides' | 'looks' | undefined> {
    const problem = await problemIn(this.access.require(person, 'approval.decide', question));
    if (!problem) return 'decides';
    if (problem.status === 403) return 'looks';
    if (question.subject_kind !== 'mcp_call' || !organization) return undefined;
    const managing = this.organizations.require(person, 'service_account.manage', organization);
    return (await problemIn(managing)) ? undefined : 'decides';
  }

  private describe({ question, names, mayDecide, now }: FoundQuestion): ToDecide {
    const { tool, subject_kind, client_name, expires_at } = question;
    const seconds = (Date.parse(expires_at) - now.getTime()) / 1000;
    const input = this.wording.argumentsOf(question);
    const { workspace, chat, agent, requester, account_organization_id } = names;
    const isOfRun = subject_kind === 'run_tool_call';
    const owner = account_organization_id === null ? null : requester;
    const facts: [string, string | null][] = isOfRun
      ? [
          ['Asked by', agent === null ? 'An agent' : `The agent ${agent}`],
          ['On behalf of', requester],
          ['Chat', chat],
        ]
      : [['Asked by', `${client_name ?? ''}${owner ? `, of ${owner}` : ''}`]];
    return {
      ...this.wording.of(tool),
      action: tool,
      facts: [...facts, ['Workspace', workspace]],
      input,
      seconds,
      mayDecide,
    };
  }
}
