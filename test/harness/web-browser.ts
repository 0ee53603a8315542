import { request } from 'node:http';

/** A page that a browser shows, or what one of its scripts got. */
export interface Shown {
  readonly status: number;
  readonly url: URL;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly text: string;
  /** The addresses it came by, oldest first. */
  readonly way: readonly URL[];
}

interface Sent {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Record<string, string>;
}

const MAX_REDIRECTS = 10;

/**
 * A browser that goes from host to host, all of them below localhost on one port: with a cookie jar for each, and the
 * headers that say where a request comes from. It runs no scripts; tests act as those.
 */
export class WebBrowser {
  private readonly jars = new Map<string, Map<string, string>>();

  constructor(
    private readonly agent: Readonly<Record<string, string>> = { 'user-agent': 'Mozilla/5.0 Test browser' },
    private readonly sendsFetchHeaders = true,
    /** The port on this machine that stands for a host. */
    private readonly portOf: (host: string, port: string) => number | string = (_host, port) => port,
  ) {}

  /** Follows an address that was typed, or a link on a page of `from`. */
  open(address: string | URL, from?: string): Promise<Shown> {
    return this.navigate(new URL(address), {}, from, []);
  }

  /** Sends the first form of a page whose action begins so, with what it holds and `fields`. */
  submit(page: Shown, action: string, fields: Record<string, string>): Promise<Shown> {
    const form = formsOf(page.text).find(each => each.action.startsWith(action));
    if (!form) throw new Error(`${page.url} (${page.status}) has no form ${action}: ${page.text}`);
    const body = new URLSearchParams({ ...form.hidden, ...fields }).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const sent = { method: 'POST', body, headers };
    return this.navigate(new URL(form.action, page.url), sent, page.url.origin, []);
  }

  /** What a script on a page of `origin` gets; `dest` for what a page loads otherwise. */
  fetch(
    origin: string,
    address: string | URL,
    sent: Sent & { mode?: string; dest?: string } = {},
  ): Promise<Shown> {
    const { mode = 'cors', dest = 'empty', method = 'GET' } = sent;
    const url = new URL(address, origin);
    const isCross = url.origin !== origin;
    const headers = {
      accept: '*/*',
      ...(this.sendsFetchHeaders && {
        'sec-fetch-site': isCross ? 'same-site' : 'same-origin',
        'sec-fetch-mode': mode,
        'sec-fetch-dest': dest,
      }),
      ...((isCross && mode === 'cors') || method !== 'GET' ? { origin } : {}),
      ...sent.headers,
    };
    return this.send(url, { ...sent, headers }, []);
  }

  cookiesOf(host: string): string[] {
    return [...(this.jars.get(host)?.keys() ?? [])];
  }

  /** Moves a cookie to another host, as a thief would. */
  copyCookies(from: string, to: string): void {
    this.jars.set(to, new Map(this.jars.get(from)));
  }

  setCookie(host: string, name: string, value: string): void {
    this.jarOf(host).set(name, value);
  }

  private async navigate(url: URL, sent: Sent, from: string | undefined, way: URL[]): Promise<Shown> {
    const { method = 'GET' } = sent;
    const headers = {
      accept: 'text/html,application/xhtml+xml,*/*;q=0.8',
      ...(this.sendsFetchHeaders && {
        'sec-fetch-site': from === undefined ? 'none' : from === url.origin ? 'same-origin' : 'same-site',
        'sec-fetch-mode': 'navigate',
        'sec-fetch-dest': 'document',
      }),
      ...(method !== 'GET' && from !== undefined ? { origin: from } : {}),
      ...sent.headers,
    };
    const shown = await this.send(url, { ...sent, headers }, way);
    const { location } = shown.headers;
    if (shown.status < 300 || shown.status >= 400 || location === undefined) return shown;
    if (way.length >= MAX_REDIRECTS) throw new Error(`round and round: ${way.join(' → ')}`);
    return this.navigate(new URL(String(location), url), {}, from ?? undefined, [...way, url]);
  }

  private send(url: URL, { method = 'GET', body, headers }: Sent, way: readonly URL[]): Promise<Shown> {
    const jar = this.jarOf(url.hostname);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const all = { ...this.agent, ...headers, host: url.host, ...(cookie && { cookie }) };
    return new Promise((resolve, reject) => {
      const path = url.pathname + url.search;
      const sent = request(
        { hostname: '127.0.0.1', port: this.portOf(url.hostname, url.port), path, method, headers: all },
        answer => {
          for (const each of answer.headers['set-cookie'] ?? []) keep(jar, each);
          let text = '';
          answer.setEncoding('utf8').on('data', chunk => {
            text += chunk;
          });
          answer.once('error', reject);
          answer.once('end', () =>
            resolve({ status: answer.statusCode ?? 0, url, headers: answer.headers, text, way }),
          );
        },
      );
      sent.once('error', reject).end(body);
    });
  }

  private jarOf(host: string): Map<string, string> {
    const jar = this.jars.get(host) ?? new Map<string, string>();
    this.jars.set(host, jar);
    return jar;
  }
}

function keep(jar: Map<string, string>, header: string): void {
  const [pair = '', ...attributes] = header.split('; ');
  const [name = '', value = ''] = pair.split(/=(.*)/s);
  if (attributes.some(each => /^max-age=0$/i.test(each))) jar.delete(name);
  else jar.set(name, value);
}

const unescaped = (text: string) =>
  text.replaceAll('&amp;', '&').replaceAll('&#39;', "'").replaceAll('&quot;', '"');

function formsOf(html: string): { action: string; hidden: Record<string, string> }[] {
  return [...html.matchAll(/<form[^>]*action="([^"]*)"[^>]*>(.*?)<\/form>/gs)].map(
    ([, action = '', inner = '']) => ({
      action: unescaped(action),
      hidden: Object.fromEntries(
        [...inner.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(
          ([, name = '', value = '']) => [name, unescaped(value)],
        ),
      ),
    }),
  );
}
