import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { type LinkUses, ShareLinksStore } from '../links/share-links.store.js';

const FLUSH_MS = 1_000;

/** Counts visits in memory, and adds them to their links together: a popular link costs an update a second, not one a visit. */
@Injectable()
export class VisitCounts implements OnApplicationShutdown {
  private readonly logger = new Logger(VisitCounts.name);
  private pending = new Map<string, LinkUses>();
  private timer: NodeJS.Timeout | undefined;
  private isOpen = true;
  private flushed = Promise.resolve();

  constructor(private readonly links: ShareLinksStore) {}

  add(id: string, counter: 'views' | 'downloads'): void {
    const { views, downloads } = this.pending.get(id) ?? { views: 0, downloads: 0 };
    const uses = { id, views, downloads, last_opened_at: new Date() };
    uses[counter] += 1;
    this.pending.set(id, uses);
    this.schedule();
  }

  /** Stores what was counted so far; what cannot be stored is kept for the next time. */
  flush(): Promise<void> {
    this.flushed = this.flushed.then(() => this.write());
    return this.flushed;
  }

  /** Requests have ended by now. */
  async onApplicationShutdown(): Promise<void> {
    this.isOpen = false;
    await this.flush();
  }

  private schedule(): void {
    if (this.isOpen) this.timer ??= setTimeout(() => void this.flush(), FLUSH_MS).unref();
  }

  private async write(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const batch = this.pending;
    if (batch.size === 0) return;
    this.pending = new Map();
    try {
      await this.links.addUses([...batch.values()]);
    } catch (error) {
      this.logger.warn(
        `Visits of ${batch.size} share links could not be stored: ${(error as Error).message}`,
      );
      this.restore(batch);
      this.schedule();
    }
  }

  private restore(batch: ReadonlyMap<string, LinkUses>): void {
    for (const [id, uses] of batch) {
      const newer = this.pending.get(id);
      const views = uses.views + (newer?.views ?? 0);
      const downloads = uses.downloads + (newer?.downloads ?? 0);
      this.pending.set(id, { ...uses, ...newer, views, downloads });
    }
  }
}
