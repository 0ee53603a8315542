import type { IncomingMessage } from 'node:http';
import { isWellFormedKey } from '../../identity/keys/index.js';
import type { HostedTarget } from '../hosts/index.js';

const CARRIERS = new Set(['x-api-key', 'authorization']);

/** Whether a request brings an API key of the service: programs behind these hosts must not see one. */
export function bringsApiKey({ headers, rawHeaders }: IncomingMessage): boolean {
  if (headers['x-api-key'] === undefined && headers.authorization === undefined) return false;
  return rawHeaders.some(
    (name, at) =>
      at % 2 === 0 &&
      CARRIERS.has(name.toLowerCase()) &&
      (rawHeaders[at + 1] ?? '').split(/[\s,]+/).some(isWellFormedKey),
  );
}

export const refusalOfKey = ({ kind, id }: HostedTarget): string =>
  `API keys are not taken here; make a token with POST /api/${kind}-access/${id}/tokens`;
