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
import type { FlowHandler, FlowRequest, Grant } from './flow.js';
import { type FlowRow, FlowsStore, type KeptOutcome } from './flows.store.js';

export const START_PAGE = '/connections/authorize';
export const RESULT_PAGE = '/connections/authorized';

interface Details {
  readonly request: FlowRequest;
  /** The credential it was begun with; the flow ends with it. */
  readonly credential: Credential;
  readonly verifier?: string;
}

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
    return new URL(this.requireHandler(kind).redirectPath, this.config.baseUrl).href;
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

  /** Flow of a start address. Throws Gone if it cannot begin any more. */
  async requireStart(start: string): Promise<{ row: FlowRow; request: FlowRequest }> {
    const row = await this.store.openByStart(hashSecret(start));
    if (!row) throw over();
    return { row, request: this.openDetails(row).request };
  }

  /** Address at the provider that this browser is sent to, with a new state. */
  async send(row: FlowRow, browser: string): Promise<string> {
    const details = this.openDetails(row);
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
    if (!row || this.requireHandler(row.kind).redirectPath !== path) throw over();
    if (row.browser !== hashSecret(browser) || row.user_id !== person?.id)
      throw new Forbidden(
        'This was begun in another browser, or by another person: finish it where you began',
      );
    const details = this.openDetails(row);
    await this.requireStanding(details);
    requireIssuer(details.request, returned.iss);
    if (!(await this.store.consume(row.id))) throw over();
    const { outcome, held } = await this.finish(row, person, details, returned).catch(error => ({
      outcome: toFailure(details.request, error),
      held: null,
    }));
    await this.store.keepOutcome(row.id, outcome, held);
    return row.id;
  }

  /** Flow that came back to this browser. Throws NotFound. */
  async requireResult(id: string, person: Actor | undefined, browser: string): Promise<FlowRow> {
    const row = await this.store.byId(id);
    const isTheirs = row?.user_id === person?.id && row?.browser === hashSecret(browser);
    if (!row || !isTheirs) throw new NotFound('There is no such authorization in this browser');
    return row;
  }

  returnPath(row: FlowRow): string | undefined {
    return this.openDetails(row).request.returnPath;
  }

  async answer(row: FlowRow, person: Actor, isYes: boolean): Promise<void> {
    await this.database.transaction(async unit => {
      const sealed = await this.store.takeHeld(unit, row.id);
      const held = sealed && this.seal.open(sealed, `${row.id} held`)?.toString();
      if (held === undefined) throw over();
      const { request } = this.openDetails(row);
      const outcome = isYes
        ? await this.requireHandler(row.kind).keep(unit, person, request, JSON.parse(held) as Grant)
        : { title: 'Nothing was changed', text: 'The connection is as it was before.' };
      await this.store.keepOutcome(row.id, outcome, null, unit);
    });
  }

  @Chore('oauth_flow_prune', { everyMs: 3_600_000 })
  prune(): Promise<void> {
    return this.store.prune();
  }

  /** Exchanges the code and keeps the tokens, or seals them until the person has answered a question. */
  private async finish(
    row: FlowRow,
    person: Actor,
    { request, verifier = '' }: Details,
    { code, error }: Returned,
  ): Promise<{ outcome: KeptOutcome; held: Buffer | null }> {
    const { id, kind } = row;
    const { provider } = request;
    if (error === 'access_denied')
      return {
        outcome: failed(`${provider} was not allowed`, 'You, or an admin there, said no.'),
        held: null,
      };
    if (!code) {
      const answer = error && /^[a-z_]{1,60}$/.test(error) ? error : 'without a code';
      return { outcome: failed(`${provider} did not authorize`, `It answered ${answer}.`), held: null };
    }
    const handler = this.requireHandler(kind);
    const flow = { ...request, id, code, verifier, redirectUri: this.redirectUri(kind) };
    const { question, ...grant } = await handler.exchange(person, flow);
    if (question) return { outcome: question, held: this.seal.close(JSON.stringify(grant), `${id} held`) };
    const outcome = await this.database.transaction(unit => handler.keep(unit, person, flow, grant));
    return { outcome, held: null };
  }

  private requireHandler(kind: string): FlowHandler {
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

  private openDetails({ id, details }: FlowRow): Details {
    const opened = this.seal.open(details, id);
    if (!opened) throw new Conflict('This authorization cannot be read any more; start again');
    return JSON.parse(opened.toString()) as Details;
  }

  private close(id: string, details: Details): Buffer {
    return this.seal.close(JSON.stringify(details), id);
  }
}

const failed = (title: string, text: string) => ({ title, text, isFailure: true }) as const;

/** Outcome for problems that a person can act on; throws everything else. */
function toFailure({ provider }: FlowRequest, error: unknown): KeptOutcome {
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
