/**
 * At most so many at once for each key in this process; the others wait in line. What is counted after the fact is then
 * overrun by no more than that by those who come all at once.
 */
export class Turns {
  private readonly lines = new Map<string, { working: number; waiting: (() => void)[] }>();

  constructor(private readonly atOnce: number) {}

  async take<T>(key: string, work: () => Promise<T>): Promise<T> {
    const line = this.lines.get(key) ?? { working: 0, waiting: [] };
    this.lines.set(key, line);
    if (line.working < this.atOnce) line.working++;
    else await new Promise<void>(resolve => line.waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = line.waiting.shift();
      // The turn is handed over, so that nobody slips in between.
      if (next) next();
      else if (--line.working === 0) this.lines.delete(key);
    }
  }
}
