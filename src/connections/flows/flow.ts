import type { Actor } from '../../platform/access/index.js';
import type { UnitOfWork } from '../../platform/database/index.js';

/** A request for authorization, as a feature begins it. */
export interface FlowRequest {
  /** That of its handler. */
  readonly kind: string;
  /** What is authorized, e.g. a connection. */
  readonly subject_id: string;
  readonly organization_id: string;
  /** What people call the provider. */
  readonly provider: string;
  readonly endpoint: string;
  /** Parameters of the endpoint besides `response_type`, `state`, `redirect_uri` and those of PKCE. */
  readonly params: Readonly<Record<string, string>>;
  /** What the provider calls itself; absent: what has the origin of the endpoint. */
  readonly issuer?: string;
  /** It says that it always names itself (RFC 9207). */
  readonly namesIssuer?: boolean;
  /** Where the person goes on afterwards, a path of the service. */
  readonly returnPath?: string;
  /** For the handler; sealed meanwhile. */
  readonly context?: Readonly<Record<string, unknown>>;
}

/** A person who came back with a code. */
export interface ReturnedFlow extends FlowRequest {
  readonly id: string;
  readonly code: string;
  readonly verifier: string;
  readonly redirectUri: string;
}

/** What the person reads in the end; or a question, and what is kept sealed until they answer. */
export interface FlowOutcome {
  readonly title: string;
  readonly text: string;
  readonly question?: { readonly yes: string; readonly held: string };
}

/** Finishes flows of one kind. Each throws problems for what a person can act on; they are kept and shown. */
export interface FlowHandler {
  readonly kind: string;
  /** Where the provider sends people back to; one of the paths that this feature serves. */
  readonly redirectPath: '/api/integrations/callback' | '/api/connectors/callback';
  /** Exchanges the code, outside any transaction; `person` began it, what they may is to be asked again. */
  finish(person: Actor, flow: ReturnedFlow): Promise<FlowOutcome>;
  /** The person said yes to the question; `unit` marks the flow as answered. */
  confirm(unit: UnitOfWork, person: Actor, flow: FlowRequest, held: string): Promise<FlowOutcome>;
}
