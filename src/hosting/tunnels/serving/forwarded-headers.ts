import type { IncomingMessage } from 'node:http';
import type { ForwardRules } from '#libs/reverse-proxy/index.js';

/** Visit cookies, which only the gateway reads. */
const OUR_COOKIE = /^(?:__Host-)?atl_/;
const OUR_SUBPROTOCOL = /^atelier\.access\./;

export type HeaderRules = Required<Pick<ForwardRules, 'requestHeader' | 'responseHeader'>>;

/** Removes everything of the service from requests and answers. */
export const HEADER_RULES: HeaderRules = {
  requestHeader: (name, value) => {
    if (name === 'cookie') return withoutOurs(value, ';', '; ', OUR_COOKIE);
    if (name === 'sec-websocket-protocol') return withoutOurs(value, ',', ', ', OUR_SUBPROTOCOL);
    return name.startsWith('x-atelier-') ? undefined : value;
  },
  responseHeader: (name, value) =>
    name === 'set-cookie' && OUR_COOKIE.test(value.trimStart()) ? undefined : value,
};

/** The subprotocol that carries a token. Browsers close sockets whose server chooses none of the offered ones. */
export function ourSubprotocol({ headers }: IncomingMessage): string | undefined {
  return partsOf(String(headers['sec-websocket-protocol'] ?? ''), ',').find(part =>
    OUR_SUBPROTOCOL.test(part),
  );
}

function withoutOurs(value: string, separator: string, joint: string, ours: RegExp): string | undefined {
  const kept = partsOf(value, separator).filter(part => !ours.test(part));
  return kept.length === 0 ? undefined : kept.join(joint);
}

const partsOf = (value: string, separator: string): string[] =>
  value
    .split(separator)
    .map(part => part.trim())
    .filter(part => part !== '');
