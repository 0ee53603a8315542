import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, it } from '@jest/globals';
import { Gateway } from './gateway.js';
import { type HostedHost } from './hosts/host-table.js';
import { RequestLimits } from './request-limits.js';

/** A gateway that looks up one host of a person's own, until a test says what that leads to. */
function gateway() {
  let found: (host: HostedHost | null) => void = () => undefined;
  const opened: string[] = [];
  const looked = new Promise<HostedHost | null>(resolve => {
    found = resolve;
  });
  const parts = [
    { holds: () => false },
    { has: () => false },
    { find: () => looked },
    { open: async ({ host }: { host: HostedHost }) => opened.push(host.host) > 0 },
    { clientOf: () => '203.0.113.5' },
    { answered: () => undefined, fault: () => undefined },
    new RequestLimits(0),
  ];
  return {
    gateway: new Gateway(...(parts as unknown as ConstructorParameters<typeof Gateway>)),
    found,
    opened,
  };
}

const request = {
  url: '/',
  method: 'GET',
  rawHeaders: ['Host', 'own.example'],
  headers: { host: 'own.example' },
} as IncomingMessage;

it.each([
  ['goes on', false, ['own.example']],
  ['is left alone where its client is gone by then', true, []],
])('a request for a host that is looked up %s', async (_what, isGone, expected) => {
  const { gateway: asked, found, opened } = gateway();
  const response = Object.assign(new EventEmitter(), { destroyed: false });
  asked.handle(request, response as unknown as ServerResponse, () => undefined);
  response.destroyed = isGone;
  found({ host: 'own.example' } as HostedHost);
  await new Promise(setImmediate);
  expect([opened, response.listenerCount('close')]).toEqual([expected, isGone ? 0 : 1]);
});
