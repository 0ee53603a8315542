import { createSecretKey, type KeyObject } from 'node:crypto';
import { Injectable, OnModuleInit } from '@nestjs/common';
import { randomSecret } from '../../platform/access/index.js';
import { Config } from '../../platform/config/index.js';
import { Database } from '../../platform/database/index.js';
import { Installation } from '../accounts/index.js';

/** `iss` of our access tokens. */
export const ISSUER = 'atelier';

/** The key that signs access tokens: the operator's, else one that the installation made for itself. */
@Injectable()
export class TokenKey implements OnModuleInit {
  private key: string;
  private object: KeyObject;

  constructor(
    private readonly config: Config,
    private readonly database: Database,
  ) {}

  async onModuleInit(): Promise<void> {
    this.key = this.config.jwtSecret ?? (await this.installationKey());
    this.object = createSecretKey(Buffer.from(this.key));
  }

  get value(): string {
    return this.key;
  }

  /** The same, made ready once: from text it is made again for every token. */
  get ready(): KeyObject {
    return this.object;
  }

  private installationKey(): Promise<string> {
    return this.database.transaction(async unit => {
      await unit.entities.execute(
        'insert into installation (id, token_key, created_at) values (1, ?, now()) on conflict do nothing',
        [randomSecret()],
      );
      return (await unit.entities.findOneOrFail(Installation, 1)).tokenKey;
    });
  }
}
