import { Log } from '../../../platform/log/index.js';
import type { BuildLogStore, LogLine } from '../records/build-log.store.js';
import type { BuildProgress } from '../records/version-states.js';
import type { BuildAttempt, VersionsStore } from '../records/versions.store.js';

const FLUSH_MS = 200;
const PROGRESS_MS = 500;
/** Output beyond this is dropped while it waits to be stored. */
const MAX_PENDING_BYTES = 1024 * 1024;

type Piece = Pick<LogLine, 'stream' | 'text'>;

/** Log and progress of a build, stored in batches. */
export class BuildReports {
  private pending: Piece[] = [];
  private pendingBytes = 0;
  private timer: NodeJS.Timeout | undefined;
  private storing: Promise<void> = Promise.resolve();
  private reportedAt = 0;

  constructor(
    private readonly attempt: BuildAttempt,
    private readonly versions: VersionsStore,
    private readonly lines: BuildLogStore,
    private readonly log: Log,
  ) {}

  print(stream: Piece['stream'], text: string): void {
    if (this.pendingBytes > MAX_PENDING_BYTES) return;
    this.pendingBytes += text.length;
    const last = this.pending.at(-1);
    if (last?.stream === stream && stream !== 'system')
      this.pending[this.pending.length - 1] = { stream, text: last.text + text };
    else this.pending.push({ stream, text });
    if (this.pendingBytes > MAX_PENDING_BYTES)
      this.pending.push({
        stream: 'system',
        text: 'More was printed than could be stored; some is left out here.',
      });
    this.timer ??= setTimeout(() => this.flush(), FLUSH_MS);
  }

  say(text: string): void {
    this.print('system', text);
  }

  /** Progress reports in quick succession are dropped, unless `isNew` starts a phase. */
  async progress(progress: BuildProgress, isNew = false): Promise<void> {
    const now = Date.now();
    if (!isNew && now - this.reportedAt < PROGRESS_MS) return;
    this.reportedAt = now;
    await this.versions.report(this.attempt, progress);
  }

  async end(): Promise<void> {
    this.flush();
    await this.storing;
  }

  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const pieces = this.pending;
    if (pieces.length === 0) return;
    this.pending = [];
    this.pendingBytes = 0;
    this.storing = this.storing
      .then(() => this.lines.append(this.attempt, pieces))
      .catch((error: unknown) => {
        this.log.warn({ err: error, site_version_id: this.attempt.id }, 'a part of a build log is lost');
      });
  }
}
