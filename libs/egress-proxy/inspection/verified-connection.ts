import { isIP, type Socket } from 'node:net';
import { connect, getCACertificates, type TLSSocket } from 'node:tls';
import { EgressRefusal } from '../refusal.js';

/** Speaks TLS over a connection to a host, whose certificate must be good and its own. Throws EgressRefusal. */
export function verifiedConnection(
  socket: Socket,
  host: string,
  { trusted, timeoutMs }: { readonly trusted: readonly string[] | undefined; readonly timeoutMs: number },
): Promise<TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
  const secured = connect({
    socket,
    host,
    // RFC 6066, section 3: an address is no server name.
    ...(isIP(host) === 0 && { servername: host }),
    ...(trusted && { ca: [...getCACertificates('default'), ...trusted] }),
    ALPNProtocols: ['http/1.1'],
    minVersion: 'TLSv1.2',
    rejectUnauthorized: true,
  });
  const fail = (error: Error): void => {
    clearTimeout(timer);
    secured.destroy();
    reject(new EgressRefusal('tls', `${host} gets no credential: its TLS failed (${codeOf(error)})`));
  };
  const timer = setTimeout(() => fail(new Error('it took too long')), timeoutMs);
  secured.once('error', fail).once('secureConnect', () => {
    clearTimeout(timer);
    secured.off('error', fail);
    resolve(secured);
  });
  return promise;
}

const codeOf = (error: NodeJS.ErrnoException): string => error.code ?? error.message;
