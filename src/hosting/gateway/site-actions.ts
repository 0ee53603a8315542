import { Injectable } from '@nestjs/common';
import { parseJson } from '#libs/exact-json/index.js';
import { type ActionCaller, ActionRunner, ExecTokens } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database } from '../../platform/database/index.js';
import { NotFound, Problem, problemOf } from '../../platform/errors/index.js';
import { requestId, TrustedProxies, withRequestOrigin } from '../../platform/http/index.js';
import { AccessControl, type Admitted } from './access/access-control.js';
import { isSameOrigin } from './access/fetch-site.js';
import { readBody, sendJson } from './answers.js';
import { HostedContents, type OfferedActions } from './hosted-contents.js';
import type { ReservedRequest } from './hosted-request.js';
import { type HostedTarget } from './hosts/hosted-targets.js';
import { MinuteCounts } from './request-limits.js';

const MAX_BYTES = 64 * 1024;
const MAX_PER_MINUTE = 30;
const TOKEN_MS = 3_600_000;

/**
 * Actions that a site offers its viewers. They run by an exec token on the authority of whoever set the list; browsers never
 * see it.
 */
@Injectable()
export class SiteActions {
  private readonly tokens = new Map<string, { token: string; offered: OfferedActions; until: number }>();
  private readonly calls = new MinuteCounts();

  constructor(
    private readonly contents: HostedContents,
    private readonly control: AccessControl,
    private readonly execTokens: ExecTokens,
    private readonly runner: ActionRunner,
    private readonly database: Database,
    private readonly audit: Audit,
    private readonly proxies: TrustedProxies,
  ) {}

  async run(asked: ReservedRequest, name: string): Promise<void> {
    const { request, response } = asked;
    const origin = {
      request_id: requestId(request),
      address: this.proxies.clientOf(request),
      user_agent: request.headers['user-agent'] ?? null,
    };
    try {
      const result = await withRequestOrigin(origin, () => this.perform(asked, name, origin.address));
      sendJson(response, 200, result);
    } catch (error) {
      const problem = problemOf(error);
      if (!problem || problem.status >= 500) throw error;
      sendJson(response, problem.status, { detail: problem.detail }, problem.headers);
    }
  }

  private async perform({ host, request }: ReservedRequest, name: string, address: string): Promise<object> {
    if (!isSameOrigin(request, host.origin))
      throw new Problem(403, 'Only a page of this host runs its actions');
    const admission = await this.control.admit(host, request, { wantsViewer: true });
    if ('refused' in admission) throw new Problem(401, 'Sign in to open this');
    const { target } = host;
    const offered = await this.contents.find(target.kind)?.actions?.(target.id);
    if (!offered?.names.includes(name)) throw new NotFound(`This ${target.kind} offers no action ${name}`);
    const { viewer } = admission.admitted;
    if (!viewer && !offered.isPublic) throw new Problem(401, 'Sign in to do this');
    if (this.calls.add(`${target.id} ${viewer?.userId ?? address}`) > MAX_PER_MINUTE)
      throw new Problem(429, `More than ${MAX_PER_MINUTE} actions a minute; try again soon`, {
        'retry-after': '60',
      });
    const input = await readInput(request);
    const caller = await this.callerFor(target, offered);
    try {
      const result = await this.runner.run(caller, { name, input, workspaceId: target.workspaceId });
      await this.record(target, offered, admission.admitted, { action: name, action_run_id: result.run_id });
      return result;
    } catch (error) {
      const { detail, headers } = problemOf(error) ?? {};
      const run = headers?.['action-run-id'] ?? null;
      await this.record(target, offered, admission.admitted, {
        action: name,
        action_run_id: run,
        refused: detail,
      });
      throw error;
    }
  }

  /** Uses a valid token, or creates one. */
  private async callerFor(target: HostedTarget, offered: OfferedActions): Promise<ActionCaller> {
    const kept = this.tokens.get(target.id);
    const isOurs = kept && kept.until > Date.now() && isSame(kept.offered, offered);
    const standing = isOurs ? await this.execTokens.callerOf(kept.token) : undefined;
    if (standing) return standing;
    const until = Date.now() + TOKEN_MS;
    const token = await this.database.transaction(unit =>
      this.execTokens.mint(unit, {
        actor: offered.by,
        workspaceId: target.workspaceId,
        caller: { kind: target.kind, id: target.id },
        actions: offered.names,
        expiresAt: new Date(until),
      }),
    );
    this.tokens.set(target.id, { token, offered, until: until - 60_000 });
    const caller = await this.execTokens.callerOf(token);
    if (!caller) throw new NotFound('The actions of this site have ended');
    return caller;
  }

  private async record(
    { kind, id, organizationId, workspaceId }: HostedTarget,
    { by }: OfferedActions,
    { viewer }: Admitted,
    details: Record<string, unknown>,
  ): Promise<void> {
    const target = { type: kind, id, organization_id: organizationId, workspace_id: workspaceId };
    const of = { viewer_id: viewer?.userId ?? null, viewer_name: viewer?.name ?? null };
    await this.database.transaction(unit =>
      this.audit.record(unit, by, `${kind}.run_action`, target, { ...details, ...of }),
    );
  }
}

const isSame = (a: OfferedActions, b: OfferedActions): boolean =>
  a.by.id === b.by.id && a.names.join() === b.names.join();

async function readInput(request: ReservedRequest['request']): Promise<unknown> {
  if (!/^application\/json\b/i.test(request.headers['content-type'] ?? ''))
    throw new Problem(415, 'Send the input of the action as application/json');
  const body = await readBody(request, MAX_BYTES);
  if (!body) throw new Problem(413, 'The input is too large', { connection: 'close' });
  try {
    return parseJson(body.toString() || '{}');
  } catch {
    throw new Problem(400, 'The body is not valid JSON');
  }
}
