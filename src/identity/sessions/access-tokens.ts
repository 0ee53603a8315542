import { createSecretKey, type KeyObject } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Config } from '../../platform/config/index.js';
import { type RootKey, Vault } from '../../platform/vault/index.js';

/** `iss` of our access tokens. */
export const ISSUER = 'atelier';

/** The keys that sign access tokens: the operator's JWT_SECRET, else keys of the vault, which tokens name. */
@Injectable()
export class AccessTokenKeys {
  private readonly operators: KeyObject | undefined;

  constructor(
    { jwtSecret }: Config,
    private readonly vault: Vault,
  ) {
    this.operators = jwtSecret === undefined ? undefined : createSecretKey(Buffer.from(jwtSecret));
  }

  get signing(): { key: KeyObject; id: string } {
    if (this.operators) return { key: this.operators, id: '' };
    const { current } = this.vault.roots;
    return { key: keyOf(current), id: current.id };
  }

  /** The key of tokens that name `id`; undefined where they do not count any more. */
  verifying(id: string): KeyObject | undefined {
    if (this.operators) return id === '' ? this.operators : undefined;
    const root = this.vault.roots.verifying(id);
    return root && keyOf(root);
  }
}

const keyOf = (root: RootKey): KeyObject => root.derive('access token');
