import { ProxyError } from './proxy-error.js';

/** How long something is waited for. */
export class Deadline {
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly missed: (error: ProxyError) => void) {}

  /** Instead of what was waited for before. */
  set(ms: number, message: string): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.missed(new ProxyError('timeout', message)), ms).unref();
  }

  /** Begins anew. */
  readonly renew = (): void => {
    this.timer?.refresh();
  };

  clear(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }
}
