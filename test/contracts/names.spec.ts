import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { apiDescription } from '../../src/api-description.js';
import type { Json } from '../harness/client.js';

/** The verbs that there are. A new capability takes one of these; a new verb is for what none of them says. */
const VERBS = new Set(
  `list get create update delete set remove search preview stat read write edit patch move copy upload download extract
  restore diff duplicate run send steer withdraw decide stop cancel rollback watch accept decline resend leave
  transfer adopt revoke rotate register login logout refresh verify change confirm request clear unread archive test enable recover promote lock unlock resume pin start restart check share export rebuild publish clone deploy pause replay trigger
  validate authorize answer checkout commit pull push`.split(/\s+/),
);

/** What was released: names only come here, and none goes or changes what it stands for. */
const released = readFileSync(new URL('operations.txt', import.meta.url), 'utf8')
  .trim()
  .split('\n');

const { paths } = await apiDescription();
const operations = Object.entries(paths).flatMap(([path, item]) =>
  Object.entries(item as Record<string, Json>).map(([method, operation]) => ({
    id: operation.operationId as string,
    action: operation['x-action'] as string | undefined,
    line: `${operation.operationId} ${method.toUpperCase()} ${path}`,
  })),
);

describe('the names of operations', () => {
  it('are each of one operation', () => {
    const ids = operations.map(({ id }) => id);
    expect(ids.filter((id, place) => ids.indexOf(id) !== place)).toEqual([]);
  });

  it('are a noun and a verb', () => {
    for (const { id } of operations) expect(id).toMatch(/^[a-z]+(_[a-z]+)*\.[a-z]+$/);
    const verbs = operations.map(({ id }) => id.split('.')[1] ?? id);
    expect(verbs.filter(verb => !VERBS.has(verb))).toEqual([]);
  });

  it('are those of their actions', () => {
    const others = operations.filter(({ action }) => action !== undefined);
    expect(others.map(({ action }) => action)).toEqual(others.map(({ id }) => id.replace('.', '_')));
  });

  it('stay as they were released', () => {
    expect(released.filter(line => !operations.some(operation => operation.line === line))).toEqual([]);
  });

  it('are written down in operations.txt with the release that brings them', () => {
    expect(operations.map(({ line }) => line).filter(line => !released.includes(line))).toEqual([]);
  });
});
