import { Injectable } from '@nestjs/common';
import type { Cancellations } from '#libs/mcp-http/index.js';
import { Database } from '../../../platform/database/index.js';
import { defineTopic, Topics } from '../../../platform/topics/index.js';

const topicOf = defineTopic('mcp-cancel');

/** Tells whichever process works on a request that its client has taken it back. */
@Injectable()
export class McpCancellations implements Cancellations {
  constructor(
    private readonly database: Database,
    private readonly topics: Topics,
  ) {}

  async cancel(name: string): Promise<void> {
    await this.database.transaction(unit => this.topics.publishOnCommit(unit, topicOf(name)));
  }

  onCancel(name: string, listener: () => void): () => void {
    return this.topics.subscribe(topicOf(name), listener);
  }
}
