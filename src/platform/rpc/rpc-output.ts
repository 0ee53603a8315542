/** What is written in between goes into one row. */
const FLUSH_MS = 40;

/** What a call writes while it runs, in order and some of it at a time. */
export class RpcOutput {
  private texts: string[] = [];
  private number = 0;
  private timer: NodeJS.Timeout | undefined;
  private flushing: Promise<void> = Promise.resolve();

  constructor(private readonly save: (number: number, text: string) => Promise<void>) {}

  write(text: string): void {
    this.texts.push(text);
    this.timer ??= setTimeout(() => this.flush(), FLUSH_MS);
  }

  /** Resolves when all of it is saved; rejects where that failed. */
  end(): Promise<void> {
    clearTimeout(this.timer);
    this.flush();
    return this.flushing;
  }

  private flush(): void {
    this.timer = undefined;
    const text = this.texts.join('');
    if (text === '') return;
    this.texts = [];
    this.flushing = this.flushing.then(() => this.save(++this.number, text));
    // Its fault is thrown at the end.
    this.flushing.catch(() => undefined);
  }
}
