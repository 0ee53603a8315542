import {
  InsufficientScopeError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { GuardedFetchError } from '#libs/guarded-fetch/index.js';
import { shortName } from '#libs/plain-text/index.js';
import { TooComplex } from './json-size.js';

/**
 * `address`: we do not send there; `unreachable`: no answer; `failing`: an answer that says so (5xx, 429), or none in time, or
 * one that is too much; `unauthorized`: it does not take the credential; `session`: it does not know the session any more;
 * `refused`: it refuses this request; `broken`: it does not speak the protocol.
 */
export type FaultKind =
  | 'address'
  | 'unreachable'
  | 'failing'
  | 'unauthorized'
  | 'session'
  | 'refused'
  | 'broken';

/** What keeps a remote server from answering; the message can be shown to people and models. */
export class ConnectorFault extends Error {
  constructor(
    readonly kind: FaultKind,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }

  /** Whether it says that the server is in trouble, and not only this request. */
  get isTrouble(): boolean {
    return ['address', 'unreachable', 'failing', 'broken'].includes(this.kind);
  }
}

const MAX_QUOTED = 300;
const quoted = (text: string): string => shortName(text, MAX_QUOTED);

/** Fault for an error of the protocol's client or of the network below. */
export function toFault(error: unknown): ConnectorFault {
  if (error instanceof ConnectorFault) return error;
  const own = ownIn(error);
  if (own) return own;
  if (error instanceof UnauthorizedError)
    return new ConnectorFault('unauthorized', 'The server does not accept the credential (401)');
  if (error instanceof InsufficientScopeError)
    return new ConnectorFault('refused', `The server asks for more scopes: ${quoted(error.message)}`);
  if (error instanceof SdkHttpError) return ofStatus(error.status, quoted(error.message));
  if (error instanceof ProtocolError)
    return new ConnectorFault('refused', `The server refuses the request: ${quoted(error.message)}`);
  if (error instanceof SdkError) return ofClient(error);
  const { code, cause } = error as { code?: string; cause?: { code?: string } };
  return new ConnectorFault(
    'unreachable',
    `The server could not be reached (${cause?.code ?? code ?? 'no answer'})`,
    { cause: error },
  );
}

/** A fault that was thrown below the protocol's client, wherever that wrapped it. */
function ownIn(error: unknown): ConnectorFault | undefined {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (at instanceof ConnectorFault) return at;
    if (at instanceof TooComplex) return new ConnectorFault('failing', at.message);
    if (at instanceof GuardedFetchError) {
      const isAddress = ['address', 'scheme', 'redirects'].includes(at.refusal);
      return new ConnectorFault(isAddress ? 'address' : 'failing', at.message);
    }
  }
  return undefined;
}

function ofStatus(status: number, said: string): ConnectorFault {
  if (status === 401)
    return new ConnectorFault('unauthorized', 'The server does not accept the credential (401)');
  if (status === 404) return new ConnectorFault('session', `The server answered 404: ${said}`);
  const isFailing = status >= 500 || status === 429;
  return new ConnectorFault(isFailing ? 'failing' : 'refused', `The server answered ${status}: ${said}`);
}

function ofClient(error: SdkError): ConnectorFault {
  if (error.code === SdkErrorCode.RequestTimeout)
    return new ConnectorFault('failing', 'The server took too long to answer');
  if (error.code === SdkErrorCode.ConnectionClosed)
    return new ConnectorFault('unreachable', 'The connection to the server ended');
  if (error.code === SdkErrorCode.CapabilityNotSupported || error.code === SdkErrorCode.UnsupportedResultType)
    return new ConnectorFault(
      'refused',
      'The server asks for input from a person or a model in return, which is not offered to it',
    );
  if (error.code === SdkErrorCode.InvalidResult) {
    const [, asked = 'a request'] = /^Invalid result for ([\w/]+)/.exec(error.message) ?? [];
    return new ConnectorFault(
      'broken',
      `The server does not keep to the protocol: its answer to ${asked} is not what MCP describes`,
    );
  }
  return new ConnectorFault('broken', `The server does not keep to the protocol: ${quoted(error.message)}`);
}
