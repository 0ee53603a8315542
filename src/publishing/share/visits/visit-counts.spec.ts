import { describe, expect, it } from '@jest/globals';
import type { LinkUses, ShareLinksStore } from '../links/share-links.store.js';
import { VisitCounts } from './visit-counts.js';

function counting() {
  const written: LinkUses[][] = [];
  const failures: Error[] = [];
  const addUses = async (uses: LinkUses[]): Promise<void> => {
    const failure = failures.pop();
    if (failure) throw failure;
    written.push(uses);
  };
  return { written, failures, counts: new VisitCounts({ addUses } as unknown as ShareLinksStore) };
}

const last_opened_at = expect.any(Date);

describe('VisitCounts', () => {
  it('stores many visits at once', async () => {
    const { counts, written } = counting();
    for (let n = 0; n < 100; n++) counts.add('one', n % 4 === 0 ? 'views' : 'downloads');
    counts.add('other', 'views');
    await counts.flush();
    await counts.flush();
    expect(written).toEqual([
      [
        { id: 'one', views: 25, downloads: 75, last_opened_at },
        { id: 'other', views: 1, downloads: 0, last_opened_at },
      ],
    ]);
  });

  it('keeps what could not be stored, beside what comes meanwhile', async () => {
    const { counts, written, failures } = counting();
    failures.push(new Error('The database is away'));
    counts.add('one', 'downloads');
    const failing = counts.flush();
    await Promise.resolve();
    counts.add('one', 'downloads');
    counts.add('two', 'views');
    await failing;
    await counts.onApplicationShutdown();
    const stored = Object.fromEntries(
      written.flat().map(({ id, views, downloads }) => [id, views + downloads]),
    );
    expect(written).toHaveLength(1);
    expect(stored).toEqual({ one: 2, two: 1 });
  });
});
