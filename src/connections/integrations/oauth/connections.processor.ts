import { Processor } from '@nestjs/bullmq';
import { Database } from '../../../platform/database/index.js';
import { JobProcessor, JobRunner, workerOptions } from '../../../platform/jobs/index.js';
import { Log } from '../../../platform/log/index.js';
import { Tokens } from '../../stored-credentials/index.js';
import { CONNECTIONS, revokeAtProvider } from './connection-removal.js';
import { ProviderCalls } from './provider-calls.js';
import { ProviderCatalog } from './provider-catalog.js';

type Revocation = Record<'token_set_id' | 'organization_id' | 'provider', string>;

/** Revokes the tokens of removed connections at their provider, also where that is away for a while. */
@Processor(CONNECTIONS, workerOptions({ concurrency: 4 }))
export class ConnectionsProcessor extends JobProcessor {
  constructor(
    runner: JobRunner,
    private readonly database: Database,
    private readonly catalog: ProviderCatalog,
    private readonly calls: ProviderCalls,
    private readonly tokens: Tokens,
    private readonly log: Log,
  ) {
    super(runner);
    this.handle(
      revokeAtProvider,
      payload => this.revoke(payload),
      payload => this.giveUp(payload),
    );
  }

  private async revoke({ token_set_id, organization_id, provider }: Revocation): Promise<void> {
    const tokens = await this.tokens.opened(token_set_id);
    const definition = await this.catalog.find(organization_id, provider);
    if (tokens && definition) {
      const client = await this.catalog.client(organization_id, definition);
      await this.calls.revoke(definition, client, tokens);
    }
    await this.database.transaction(unit => this.tokens.remove(unit, [token_set_id]));
  }

  private async giveUp({ token_set_id, provider }: Revocation): Promise<void> {
    this.log.warn(
      { provider, token_set: token_set_id },
      'a deleted connection could not be revoked at its provider',
    );
    await this.database.transaction(unit => this.tokens.remove(unit, [token_set_id]));
  }
}
