import { AsyncLocalStorage } from 'node:async_hooks';
import type { Sql } from './change-rows.store.js';

/** How long a write may wait for the statement that is to record it. */
const MAX_WAIT_MS = 1000;

export interface JoinedRecording {
  /** The paths of its changes. */
  readonly paths: readonly string[];
  /**
   * Common table expressions that record it: `present` locks the workspace, which has to come first, and `step` has a row
   * where the write was not recorded before.
   */
  readonly parts: Sql;
  /** To be called when they are committed. */
  committed(): void;
  /** Records it in a statement of its own, unless it is recorded. */
  alone(): Promise<void>;
}

const works = new AsyncLocalStorage<JoinedWork>();

/**
 * A write that has happened and is not in the log yet: it is to be recorded by the statement that tells of the work around it,
 * or else alone. Its intent stays in the database until then, so that it is not lost with this process.
 */
export class JoinedWrite {
  private state: 'open' | 'joined' | 'ended' = 'open';
  private readonly end = Promise.withResolvers<void>();
  private readonly timer = setTimeout(() => void this.settle(), MAX_WAIT_MS).unref();

  constructor(
    private readonly recording: JoinedRecording,
    private readonly ended: () => void,
  ) {}

  /** Whether it changed something at `path`, or below, or above. */
  touches(path: string): boolean {
    return this.recording.paths.some(
      own => own === path || own.startsWith(`${path}/`) || path.startsWith(`${own}/`),
    );
  }

  /** What a statement has to have in it, which must call {@link told}; undefined where it is being recorded alone. */
  join(): Sql | undefined {
    if (this.state !== 'open') return undefined;
    clearTimeout(this.timer);
    this.state = 'joined';
    return this.recording.parts;
  }

  /** The statement has ended: `isRecorded` says that it was committed, and that `step` had a row. */
  async told(isRecorded: boolean): Promise<void> {
    if (isRecorded) {
      this.recording.committed();
      this.finish();
    } else await this.record();
  }

  /** Returns once it is recorded, or left to be recorded when the database is back. */
  async settle(): Promise<void> {
    if (this.state !== 'open') return this.end.promise;
    clearTimeout(this.timer);
    this.state = 'joined';
    await this.record();
  }

  private async record(): Promise<void> {
    try {
      await this.recording.alone();
    } finally {
      this.finish();
    }
  }

  private finish(): void {
    this.state = 'ended';
    this.ended();
    this.end.resolve();
  }
}

/** Work of which a statement tells afterwards: the first write in it may be recorded by that. */
export class JoinedWork {
  private ended = false;
  private write: JoinedWrite | undefined;

  /** The work that the caller is part of. */
  static get current(): JoinedWork | undefined {
    return works.getStore();
  }

  /** Runs `work`; where it throws, its write is recorded before that. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    try {
      const result = await works.run(this, work);
      this.ended = true;
      return result;
    } catch (error) {
      this.ended = true;
      await this.write?.settle();
      throw error;
    }
  }

  /** Leaves the record of a write to the statement; false where it is to be recorded alone. */
  offer(make: () => JoinedWrite): boolean {
    if (!this.isOpen) return false;
    this.write = make();
    return true;
  }

  /** Whether it may still have a write. */
  get isOpen(): boolean {
    return !this.ended && !this.write;
  }

  /** The write that waits to be recorded. */
  get left(): JoinedWrite | undefined {
    return this.write;
  }
}
