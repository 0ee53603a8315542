import { expect, it } from '@jest/globals';
import { EgressRefusal } from '#libs/egress-proxy/index.js';
import type { Log } from '../../platform/log/index.js';
import { RefusalLog } from './refusal-log.js';
import { unreachedHost } from './unreached-host.js';

type Line = [level: string, fields: { egress?: unknown; count?: number }, text: string];

it('is logged once for each host and reason, however often a sandbox asks', () => {
  const lines: Line[] = [];
  const log = {
    warn: (fields: object, text: string) => void lines.push(['warn', fields, text]),
    info: (fields: object, text: string) => void lines.push(['info', fields, text]),
  } as unknown as Log;
  const refusals = new RefusalLog(log, { workspaceId: 'w', caller: { kind: 'service', id: null } });
  const refusal = new EgressRefusal('address', 'npm.corp leads nowhere');
  for (let time = 0; time < 3_800; time++) refusals.add(refusal, `http://npm.corp/package-${time}`);
  refusals.add(refusal, 'npm.corp:443');
  for (let host = 0; host < 200; host++) refusals.add(refusal, `host-${host}.test:443`);
  const warnings = lines.length;
  expect(warnings).toBe(100);
  expect(lines[0]?.[1].egress).toEqual({ reason: 'address', target: 'http://npm.corp' });
  refusals.close();
  expect(lines.slice(warnings).map(([level, { count }]) => [level, count])).toEqual([
    ['info', 3_800],
    ['warn', 102],
  ]);
});

it.each([
  ['Error: getaddrinfo EAI_AGAIN registry.npmjs.org', 'registry.npmjs.org'],
  ['curl: (6) Could not resolve host: example.com', 'example.com'],
  ['wget: unable to resolve host address ‘example.com’', 'example.com'],
  ["NameResolutionError: Failed to resolve 'pypi.org' ([Errno -3] Temporary failure)", 'pypi.org'],
  ["Failed to resolve import './missing' from src/main.ts", undefined],
])('%j names the host that was not reached', (output, host) => expect(unreachedHost(output)).toBe(host));
