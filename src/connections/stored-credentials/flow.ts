import type { Actor } from '../../platform/access/index.js';
import type { UnitOfWork } from '../../platform/database/index.js';
import type { TokenSet } from './token-set.js';

export interface FlowRequest {
  readonly kind: string;
  /** What is authorized, e.g. a connection. */
  readonly subject_id: string;
  readonly organization_id: string;
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

/** Tokens that a person brought back. They wait sealed where the person has a question to answer first. */
export interface Grant {
  readonly tokens: TokenSet;
  /** Account at the provider, where it says so. */
  readonly account?: { readonly id: string; readonly label: string } | null;
  readonly question?: { readonly title: string; readonly text: string; readonly yes: string };
}

export interface FlowOutcome {
  readonly title: string;
  readonly text: string;
}

/** Ends flows of one kind. Problems that it throws are kept, and shown to the person. */
export interface FlowHandler {
  readonly kind: string;
  /** Redirect address; one of the paths that `FlowPagesController` serves. */
  readonly redirectPath: '/api/integrations/callback' | '/api/connectors/callback';
  /** Exchanges the code, outside any transaction, after it asked again whether the person may. */
  exchange(person: Actor, flow: ReturnedFlow): Promise<Grant>;
  /** Keeps the tokens, after it asked again whether the person may. */
  keep(unit: UnitOfWork, person: Actor, flow: FlowRequest, grant: Grant): Promise<FlowOutcome>;
}
