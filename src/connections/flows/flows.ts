import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import {
  type Actor,
  type Credential,
  Credentials,
  hashSecret,
  randomSecret,
} from '../../platform/access/index.js';
import { Config } from '../../platform/config/index.js';
import { Database, iso, newId, type UnitOfWork } from '../../platform/database/index.js';
import { Conflict, Forbidden, Gone, Invalid, NotFound, problemOf } from '../../platform/errors/index.js';
import { Chore } from '../../platform/jobs/index.js';
import { type Seal, Vault } from '../../platform/vault/index.js';
import type { FlowHandler, FlowOutcome, FlowRequest, ReturnedFlow } from './flow.js';
import { type FlowRow, FlowsStore } from './flows.store.js';

export const START_PAGE = '/connections/authorize';
export const RESULT_PAGE = '/connections/authorized';

/** What is sealed in the row. */
interface Details {
  readonly request: FlowRequest;
  /** The credential it was begun with; the flow ends with it. */
  readonly credential: Credential;
  readonly verifier?: string;
}

/** Where a person opens it, and until when. */
export interface StartedFlow {
  readonly authorize_url: string;
  readonly expires_at: string;
}

/** What a provider sends back (RFC 6749, 4.1.2; RFC 9207). */
export interface Returned {
  readonly state: string;
  readonly code?: string;
  readonly error?: string;
  readonly iss?: string;
}

const over = () => new Gone('This authorization is over, or was used; start again');

/**
 * Authorization code flows with PKCE (RFC 6749, 7636): each is begun by a person, sent from one browser in which they are
 * signed in, and finished once, in ten minutes, in that browser. So nobody can connect an account of theirs to what belongs
 * to another, and nobody can have another authorize in their stead.
 */
@Injectable()
export class OAuthFlows {
  private readonly handlers = new Map<string, FlowHandler>();
  private readonly seal: Seal;

  constructor(
    private readonly database: Database,
    private readonly store: FlowsStore,
    private readonly config: Config,
    private readonly credentials: Credentials,
    vault: Vault,
  ) {
    this.seal = vault.seal('oauth flow');
  }

  /** Says who finishes flows of a kind; once, while modules start. */
  register(handler: FlowHandler): void {
    if (this.handlers.has(handler.kind)) throw new Error(`Flows of ${handler.kind} have two handlers`);
    this.handlers.set(handler.kind, handler);
  }

  /** The address that providers send people back to, to be registered there. */
  redirectUri(kind: string): string {
    return new URL(this.handlerOf(kind).redirectPath, this.config.baseUrl).href;
  }

  /** Begins a flow, for a person. Throws Invalid for a return path that leads elsewhere. */
  async begin(unit: UnitOfWork, actor: Actor, request: FlowRequest): Promise<StartedFlow> {
    if (actor.type !== 'user')
      throw new Forbidden('A person has to authorize this: call it with a sign-in or a key of theirs');
    this.requireOwnPath(request.returnPath);
    const [id, start] = [newId(), randomSecret()];
    const details: Details = { request, credential: actor.credential };
    const { expires_at } = await this.store.insert(unit, {
      id,
      kind: request.kind,
      subject_id: request.subject_id,
      organization_id: request.organization_id,
      user_id: actor.id,
      start_hash: hashSecret(start),
      details: this.close(id, details),
    });
    const authorize_url = new URL(`${START_PAGE}/${start}`, this.config.baseUrl).href;
    return { authorize_url, expires_at: iso(expires_at) };
  }

  /** The flow of a start address, while it can begin; throws Gone. */
  async ofStart(start: string): Promise<{ row: FlowRow; request: FlowRequest }> {
    const row = await this.store.openByStart(hashSecret(start));
    if (!row) throw over();
    return { row, request: this.detailsOf(row).request };
  }

  /** Where to send this browser: the address at the provider, with a new state. */
  async send(row: FlowRow, browser: string): Promise<string> {
    const details = this.detailsOf(row);
    await this.requireStanding(details);
    const [state, verifier] = [randomSecret(), randomSecret()];
    const sent = {
      stateHash: hashSecret(state),
      browser: hashSecret(browser),
      details: this.close(row.id, { ...details, verifier }),
    };
    if (!(await this.store.send(row.id, sent))) throw over();
    const url = new URL(details.request.endpoint);
    const params = {
      ...details.request.params,
      response_type: 'code',
      redirect_uri: this.redirectUri(row.kind),
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    };
    for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value);
    return url.href;
  }

  /**
   * Takes what came back to `path`, once, and finishes it; returns the id of the flow, whose result is kept, also where that is a failure. Throws Invalid,
   * Forbidden, Gone where it does not count; then nothing is changed.
   */
  async take(path: string, person: Actor | undefined, browser: string, returned: Returned): Promise<string> {
    const row = await this.store.byState(hashSecret(returned.state));
    if (!row || this.handlerOf(row.kind).redirectPath !== path) throw over();
    if (row.browser !== hashSecret(browser) || row.user_id !== person?.id)
      throw new Forbidden(
        'This was begun in another browser, or by another person: finish it where you began',
      );
    const details = this.detailsOf(row);
    await this.requireStanding(details);
    requireIssuer(details.request, returned.iss);
    if (!(await this.store.consume(row.id))) throw over();
    const outcome = await this.outcomeOf(row, person, details, returned).catch(error =>
      failureOf(details.request, error),
    );
    const { question, ...told } = outcome;
    const held = question && this.seal.close(question.held, `${row.id} held`);
    await this.store.keepOutcome(row.id, { ...told, yes: question?.yes }, held ?? null);
    return row.id;
  }

  /** A flow that came back to this browser; throws NotFound. */
  async ofResult(id: string, person: Actor | undefined, browser: string): Promise<FlowRow> {
    const row = await this.store.byId(id);
    const isTheirs = row?.user_id === person?.id && row?.browser === hashSecret(browser);
    if (!row || !isTheirs) throw new NotFound('There is no such authorization in this browser');
    return row;
  }

  returnPathOf(row: FlowRow): string | undefined {
    return this.detailsOf(row).request.returnPath;
  }

  /** The person said yes to what was asked, or no. */
  async answer(row: FlowRow, person: Actor, isYes: boolean): Promise<void> {
    await this.database.transaction(async unit => {
      const sealed = await this.store.takeHeld(unit, row.id);
      const held = sealed && this.seal.open(sealed, `${row.id} held`)?.toString();
      if (held === undefined) throw over();
      const { request } = this.detailsOf(row);
      const outcome = isYes
        ? await this.handlerOf(row.kind).confirm(unit, person, request, held)
        : { title: 'Nothing was changed', text: 'The connection is as it was before.' };
      await this.store.keepOutcome(row.id, { title: outcome.title, text: outcome.text }, null, unit);
    });
  }

  @Chore('oauth_flow_prune', { everyMs: 3_600_000 })
  prune(): Promise<void> {
    return this.store.prune();
  }

  private async outcomeOf(
    row: FlowRow,
    person: Actor,
    { request, verifier = '' }: Details,
    { code, error }: Returned,
  ): Promise<FlowOutcome & { isFailure?: boolean }> {
    const { id, kind } = row;
    if (error === 'access_denied')
      return failed(`${request.provider} was not allowed`, 'You, or an admin there, said no.');
    if (!code)
      return failed(
        `${request.provider} did not authorize`,
        `It answered ${error && /^[a-z_]{1,60}$/.test(error) ? error : 'without a code'}.`,
      );
    const flow: ReturnedFlow = { ...request, id, code, verifier, redirectUri: this.redirectUri(kind) };
    return this.handlerOf(kind).finish(person, flow);
  }

  private handlerOf(kind: string): FlowHandler {
    const handler = this.handlers.get(kind);
    if (!handler) throw new Error(`Flows of ${kind} have no handler`);
    return handler;
  }

  /** A session that was signed out of, or a key that was revoked, finishes nothing. */
  private async requireStanding({ credential }: Details): Promise<void> {
    if (!(await this.credentials.stands(credential))) throw over();
  }

  private requireOwnPath(path: string | undefined): void {
    if (path === undefined) return;
    const base = new URL(this.config.baseUrl);
    const url = URL.parse(path, base.href);
    if (!path.startsWith('/') || /[\\\s]/.test(path) || url?.origin !== base.origin || path.startsWith('//'))
      throw new Invalid('return_path must be a path of this service, such as /settings');
  }

  private detailsOf({ id, details }: FlowRow): Details {
    const opened = this.seal.open(details, id);
    if (!opened) throw new Conflict('This authorization cannot be read any more; start again');
    return JSON.parse(opened.toString()) as Details;
  }

  private close(id: string, details: Details): Buffer {
    return this.seal.close(JSON.stringify(details), id);
  }
}

const failed = (title: string, text: string) => ({ title, text, isFailure: true }) as const;

/** What a person can act on; throws everything else. */
function failureOf({ provider }: FlowRequest, error: unknown): FlowOutcome & { isFailure: true } {
  const problem = problemOf(error);
  if (!problem) throw error;
  return failed(`${provider} was not connected`, `${problem.detail}.`);
}

/** Refuses what another server answered than the one that was asked (RFC 9207). */
function requireIssuer(
  { endpoint, issuer, namesIssuer = false }: FlowRequest,
  iss: string | undefined,
): void {
  const isRight =
    iss === undefined
      ? !namesIssuer
      : issuer === undefined
        ? URL.parse(iss)?.origin === new URL(endpoint).origin
        : iss === issuer;
  if (!isRight) throw new Forbidden('Another server answered than the one that was asked; start again');
}
