import { Injectable } from '@nestjs/common';
import { Log } from '../../../platform/log/index.js';
import { type LogPiece, type LogStream, ServerLogStore } from './server-log.store.js';

const LAST_CHARACTERS = 2000;
const FLUSH_MS = 250;
const MAX_PIECE = 16 * 1024;
/** Output beyond this per second is dropped. */
const MAX_PER_SECOND = 256 * 1024;

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

/** Output of one server process, stored in batches and limited per second. */
class LogWriter {
  private pending: LogPiece[] = [];
  private pendingLength = 0;
  private timer: NodeJS.Timeout | undefined;
  private storing: Promise<void> | undefined;
  private second = 0;
  private taken = 0;
  private dropped = 0;

  /** `store` writes a batch; a rejected one is dropped. */
  constructor(
    private readonly store: (pieces: readonly LogPiece[]) => Promise<void>,
    private readonly onLost: (error: unknown) => void,
  ) {}

  write(stream: LogStream, text: string): void {
    const kept = text.slice(0, this.room());
    if (kept.length > 0) this.mark();
    this.dropped += text.length - kept.length;
    this.taken += kept.length;
    for (let at = 0; at < kept.length; at += MAX_PIECE) this.add(stream, kept.slice(at, at + MAX_PIECE));
    if (this.pendingLength >= MAX_PIECE) void this.flush();
    else this.timer ??= setTimeout(() => void this.flush(), FLUSH_MS);
  }

  /** Resolves when all output is stored. */
  async end(): Promise<void> {
    this.mark();
    do await this.flush();
    while (this.pending.length > 0);
  }

  /** Characters that are kept now; at most one second of output while the database is slow or away. */
  private room(): number {
    const second = Math.floor(performance.now() / 1000);
    if (second !== this.second) {
      this.second = second;
      this.taken = 0;
    }
    return Math.max(0, MAX_PER_SECOND - Math.max(this.taken, this.pendingLength));
  }

  private mark(): void {
    if (this.dropped === 0) return;
    const text = `… ${this.dropped} characters were left out here: more was printed than is kept of one second\n`;
    this.dropped = 0;
    this.add('system', text);
  }

  private add(stream: LogStream, text: string): void {
    const last = this.pending.at(-1);
    if (last?.stream === stream && last.text.length + text.length <= MAX_PIECE)
      this.pending[this.pending.length - 1] = { stream, text: last.text + text };
    else this.pending.push({ stream, text });
    this.pendingLength += text.length;
  }

  /** One batch at a time, which keeps the order. */
  private flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.storing ??= this.storeAll().finally(() => {
      this.storing = undefined;
      if (this.pending.length > 0) this.timer ??= setTimeout(() => void this.flush(), FLUSH_MS);
    });
    return this.storing;
  }

  private async storeAll(): Promise<void> {
    const pieces = this.pending;
    if (pieces.length === 0) return;
    this.pending = [];
    try {
      await this.store(pieces);
    } catch (error) {
      this.onLost(error);
    }
    this.pendingLength = this.pending.reduce((sum, { text }) => sum + text.length, 0);
  }
}
