import { Injectable } from '@nestjs/common';
import { Log } from '../../../platform/log/index.js';
import { LogWriter } from './log-writer.js';
import { ServerLogStore } from './server-log.store.js';

const LAST_CHARACTERS = 2000;

@Injectable()
export class ServerLogs {
  constructor(
    private readonly store: ServerLogStore,
    private readonly log: Log,
  ) {}

  writer(serverId: string, instanceId: string): LogWriter {
    return new LogWriter(
      pieces => this.store.append(serverId, instanceId, pieces),
      error => this.log.warn({ err: error, server_id: serverId }, 'a part of the log of a server is lost'),
    );
  }

  /** Last lines of program output, 2,000 characters at most. */
  async lastLines(serverId: string, lines: number): Promise<string> {
    const entries = await this.store.newest(serverId, lines);
    const text = entries
      .filter(({ stream }) => stream !== 'system')
      .map(entry => entry.text)
      .join('')
      .trimEnd();
    return text.split('\n').slice(-lines).join('\n').slice(-LAST_CHARACTERS);
  }
}
