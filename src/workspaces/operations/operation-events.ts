import type { EventLog, LogPage } from '../../platform/streams/index.js';
import type { Topic } from '../../platform/topics/index.js';
import { isOver } from './operation.js';
import { operationView } from './operations.dto.js';
import { type OperationsStore, operationTopic } from './operations.store.js';

/** How an operation stands, whenever that changes: the last change is the one that is seen. */
export class OperationEvents implements EventLog {
  readonly topic: Topic;

  constructor(
    private readonly operations: OperationsStore,
    private readonly id: string,
  ) {
    this.topic = operationTopic(id);
  }

  async read(after: number): Promise<LogPage> {
    const row = await this.operations.find(this.id);
    if (!row) return { events: [], isLast: true };
    const isLast = isOver(row);
    if (row.version <= after && !isLast) return { events: [] };
    const event = isLast ? `operation.${row.state}` : 'operation.progress';
    return { events: [{ id: row.version, event, data: operationView(row) }], isLast };
  }
}
