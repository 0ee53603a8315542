import { Injectable } from '@nestjs/common';
import { Conflict } from '../../../platform/errors/index.js';
import { type HeldToken, Tokens } from '../../stored-credentials/index.js';
import { ConnectorFault } from '../client/connector-fault.js';
import { type Credential } from '../client/remote-server.js';
import { type Auth, type ConnectorRow } from '../records/connector-rows.js';
import { CredentialsStore } from '../records/credentials.store.js';

/** A connector, as far as it says with which credential it is used. */
export type Used = Pick<ConnectorRow, 'id' | 'name' | 'auth' | 'per_user'>;

/** There is no credential yet: a person has to authorize it first. */
export class NotAuthorized extends Conflict {
  constructor({ name, per_user }: Used) {
    const whose = per_user ? 'with an account of your own' : 'by a person who manages it';
    super(`The connector ${name} has to be authorized first, ${whose}`);
  }
}

/** Sends with the credential that a caller has for a connector. */
@Injectable()
export class CredentialUse {
  constructor(
    private readonly credentials: CredentialsStore,
    private readonly tokens: Tokens,
  ) {}

  /**
   * `send` is called with the credential, and once more with a renewed one where the server does not take it. Throws
   * NotAuthorized and other Conflicts (409) where a person has to do something, else what `send` throws.
   */
  async with<T>(
    connector: Used,
    userId: string | null,
    send: (credential: Credential, credentialId: string) => Promise<T>,
  ): Promise<T> {
    if (connector.auth === 'none') return send({}, 'none');
    const whose = { connectorId: connector.id, userId: connector.per_user ? userId : null };
    const isMissing = connector.per_user && userId === null;
    const row = isMissing ? undefined : await this.credentials.find(whose);
    if (!row) throw new NotAuthorized(connector);
    if (row.review !== null)
      throw new Conflict(`The connector ${connector.name} is not used now: ${row.review}`);
    const outcome = await this.tokens.use(
      row.token_set_id,
      held => attempted(send(toCredential(connector.auth, held), row.id)),
      ({ rejected }) => rejected !== undefined,
    );
    if (outcome.rejected) throw outcome.rejected;
    return outcome.result as T;
  }
}

export function toCredential(auth: Auth, { accessToken, values }: HeldToken): Credential {
  if (auth === 'headers') return { headers: values };
  return { token: accessToken };
}

/** Returns a rejected credential as a result, so that it is renewed. */
async function attempted<T>(work: Promise<T>): Promise<{ result?: T; rejected?: ConnectorFault }> {
  try {
    return { result: await work };
  } catch (error) {
    if (error instanceof ConnectorFault && error.kind === 'unauthorized') return { rejected: error };
    throw error;
  }
}
