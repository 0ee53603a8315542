import { Injectable } from '@nestjs/common';
import type { Actor } from '../../../platform/access/index.js';
import { Action } from '../../../platform/actions/index.js';
import { toView } from '../../../platform/dto/index.js';
import type { EventLog, LogPage, Watched } from '../../../platform/streams/index.js';
import type { Topic } from '../../../platform/topics/index.js';
import { HostedTargets } from '../../gateway/index.js';
import { ReadServerLog, ServerLogEntryView, ServerLogView } from './server-log.dto.js';
import { type LogEntry, ServerLogStore, serverLogTopic } from './server-log.store.js';

/** Entries of up to 16 KiB. */
const PAGE = 100;
const DEFAULT_TAIL = 100;
const NOTHING_BEFORE =
  'The newest 4 MiB of a server are kept; of more than 256 KiB a second, the rest is left out.';

@Injectable()
export class ServerLogService {
  constructor(
    private readonly targets: HostedTargets,
    private readonly log: ServerLogStore,
  ) {}

  @Action('server_log_get', 'GET /api/tunnels/:id/logs', {
    on: { id: 'server' },
    summary: 'Read what a server has printed: its newest lines, or what follows an entry',
    description: NOTHING_BEFORE,
    permission: 'tunnel.read',
    input: ReadServerLog,
    output: ServerLogView,
  })
  async read(actor: Actor, { id, after, tail = DEFAULT_TAIL }: ReadServerLog): Promise<ServerLogView> {
    await this.targets.requireServer(actor, 'tunnel.read', id);
    const entries =
      after === undefined
        ? takeLastLines(await this.log.newest(id, PAGE), tail)
        : await this.log.read(id, after, PAGE);
    return { entries: entries.map(viewOf), next: entries.at(-1)?.id ?? after ?? 0 };
  }

  @Action('server_log_watch', {
    on: { id: 'server' },
    summary: 'Stream what a server prints: from its newest lines, or from after an entry',
    description: NOTHING_BEFORE,
    permission: 'tunnel.read',
    input: ReadServerLog,
    output: ServerLogView,
    restOnly: true,
  })
  async events(actor: Actor, { id, tail }: ReadServerLog): Promise<Watched> {
    const { workspaceId } = await this.targets.requireServer(actor, 'tunnel.read', id);
    return { workspaceId, log: new WatchedLog(this.log, id, tail) };
  }
}

class WatchedLog implements EventLog {
  readonly topic: Topic;

  constructor(
    private readonly log: ServerLogStore,
    private readonly serverId: string,
    private tail: number | undefined,
  ) {
    this.topic = serverLogTopic(serverId);
  }

  async read(after: number): Promise<LogPage> {
    const { tail } = this;
    this.tail = undefined;
    const entries =
      tail !== undefined && after === 0
        ? takeLastLines(await this.log.newest(this.serverId, PAGE), tail)
        : await this.log.read(this.serverId, after, PAGE);
    const events = entries.map(entry => {
      const { id, ...data } = viewOf(entry);
      return { id, event: 'server.log', data };
    });
    return { events };
  }
}

const viewOf = (row: LogEntry): ServerLogEntryView => toView(ServerLogEntryView, row);

/** The last `count` lines; the first entry may be cut. */
function takeLastLines(entries: readonly LogEntry[], count: number): LogEntry[] {
  const kept: LogEntry[] = [];
  let left = count;
  for (const entry of [...entries].reverse()) {
    if (left <= 0) break;
    const lines = entry.text.split('\n');
    // What follows the last line feed is a line only where there is something.
    const isWhole = lines.at(-1) === '';
    const number = lines.length - (isWhole ? 1 : 0);
    kept.unshift(number <= left ? entry : { ...entry, text: lines.slice(number - left).join('\n') });
    left -= number;
  }
  return kept;
}
