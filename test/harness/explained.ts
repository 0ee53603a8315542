import { jest } from '@jest/globals';
import pg from 'pg';
import type { Json } from './client.js';

/** How a statement ran: the plan with its numbers. */
export class Explained {
  constructor(private readonly plan: Json) {}

  /** Rows that were read from the table, used or not. */
  rowsOf(table: string): number {
    return this.scansOf(table)
      .map(
        scan =>
          ((scan['Actual Rows'] ?? 0) +
            (scan['Rows Removed by Filter'] ?? 0) +
            (scan['Rows Removed by Index Recheck'] ?? 0)) *
          scan['Actual Loops'],
      )
      .reduce((sum, rows) => sum + Math.round(rows), 0);
  }

  private scansOf(table: string, node = this.plan): Json[] {
    const inner = (node.Plans ?? []).flatMap((one: Json) => this.scansOf(table, one));
    return node['Relation Name'] === table ? [node, ...inner] : inner;
  }
}

let watched: { pattern: RegExp; found: Explained[] } | undefined;

/** Lets {@link explained} see statements. Connections bind the method when they are made: call it before the service starts. */
export function watchStatements(): void {
  const query = pg.Client.prototype.query as (...given: unknown[]) => Promise<{ rows: Json[] }>;
  jest.spyOn(pg.Client.prototype, 'query').mockImplementation(async function (
    this: pg.Client,
    ...given: unknown[]
  ) {
    const [asked, values = (asked as Json)?.values] = given;
    const text = typeof asked === 'string' ? asked : (asked as Json)?.text;
    const { pattern, found } = watched ?? {};
    if (found && typeof text === 'string' && pattern?.test(text)) {
      const { rows } = await query.call(this, `explain (analyze, timing off, format json) ${text}`, values);
      found.push(new Explained(rows[0]?.['QUERY PLAN'][0].Plan));
    }
    return query.apply(this, given);
  } as never);
}

/** The statements that match while `work` is done, in order, and how each ran. They may not write. */
export async function explained(pattern: RegExp, work: () => Promise<unknown>): Promise<Explained[]> {
  const found: Explained[] = [];
  watched = { pattern, found };
  try {
    await work();
  } finally {
    watched = undefined;
  }
  return found;
}
