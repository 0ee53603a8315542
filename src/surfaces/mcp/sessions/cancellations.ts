import { Injectable } from '@nestjs/common';
import type { Cancellations } from '#libs/mcp-http/index.js';
import { Database } from '../../../platform/database/index.js';
import { Signals } from '../../../platform/topics/index.js';

const topicOf = (name: string) => `mcp-cancel:${name}`;

/** Tells whichever process works on a request that its client has taken it back. */
@Injectable()
export class McpCancellations implements Cancellations {
  constructor(
    private readonly database: Database,
    private readonly signals: Signals,
  ) {}

  async cancel(name: string): Promise<void> {
    await this.database.transaction(unit => this.signals.notify(unit, topicOf(name)));
  }

  onCancel(name: string, listener: () => void): () => void {
    return this.signals.subscribe(topicOf(name), listener);
  }
}
