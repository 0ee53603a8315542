import type { Client } from 'oidc-provider';

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];
const MOST_NAME = 80;

/** Who asks, in words that the person can check. */
export interface ClientIntroduction {
  readonly name: string;
  /** Who says that this is its name. */
  readonly vouched: string;
  /** Where the person is sent back to; null for a device. */
  readonly redirectHost: string | null;
  readonly returnsTo: string;
  /** Where a form may lead in the end, see `HtmlPage`. */
  readonly formTargets: readonly string[];
}

/** Introduces a client by its name, and by what it cannot make up: its address and where it wants the person sent. */
export function introduce(client: Client, redirectUri: string | undefined): ClientIntroduction {
  const name = nameOf(client);
  const target = redirectUri === undefined ? null : URL.parse(redirectUri);
  const isDocument = client.clientId.startsWith('https://');
  const vouched = isDocument
    ? `as ${new URL(client.clientId).host} says of it`
    : 'as it calls itself; nobody checked the name';
  return { name, vouched, ...returnOf(target) };
}

function nameOf({ clientName, clientId }: Client): string {
  const given = clientName
    ?.toWellFormed()
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim();
  return (given || clientId).slice(0, MOST_NAME);
}

function returnOf(
  target: URL | null,
): Pick<ClientIntroduction, 'redirectHost' | 'returnsTo' | 'formTargets'> {
  if (!target) return { redirectHost: null, returnsTo: 'The device that showed you a code', formTargets: [] };
  const { protocol, hostname, host, origin } = target;
  if (protocol !== 'https:' && protocol !== 'http:')
    return {
      redirectHost: protocol,
      returnsTo: `The application on this device that opens ${protocol} links`,
      formTargets: [protocol],
    };
  const onThisMachine = LOOPBACK.includes(hostname);
  return {
    redirectHost: host,
    returnsTo: onThisMachine ? `A program on this device (${host})` : host,
    // A policy of the page cannot name an IPv6 address.
    formTargets: [hostname.startsWith('[') ? protocol : origin],
  };
}
