import { isUtf8 } from 'node:buffer';
import { Injectable } from '@nestjs/common';
import { AllowList, normalizeHost } from '#libs/egress-proxy/index.js';
import { GuardedFetch, GuardedFetchError } from '#libs/guarded-fetch/index.js';
import type { HtmlPage, MarkdownPage } from '#libs/html-markdown/index.js';
import { TookTooLong } from '#libs/worker-pool/index.js';
import { Config } from '../../platform/config/index.js';
import { Conflict, Invalid } from '../../platform/errors/index.js';
import { task, Workers } from '../../platform/workers/index.js';
import { EgressStore } from '../../workspaces/egress/index.js';

const CONVERT = task('libs/html-markdown/html-markdown-task', 'htmlToMarkdown');
const CONVERT_MS = 10_000;
const FETCH_MS = 30_000;
const MAX_BYTES = 5 * 1024 * 1024;
const MAX_REDIRECTS = 5;
const REDIRECTS = [301, 302, 303, 307, 308];
const ACCEPT = 'text/markdown, text/html;q=0.9, text/plain;q=0.8, application/json;q=0.8, */*;q=0.1';

const IS_HTML = /^(text\/html|application\/xhtml\+xml)$/;
const IS_TEXT =
  /^(text\/.+|application\/(json|xml|javascript|x-ndjson|yaml|x-yaml|toml|sql)|.+\+(json|xml|yaml))$/;

/** What stands at an address. */
export interface WebPage {
  /** After redirects. */
  readonly url: string;
  readonly status: number;
  readonly mediaType: string;
  readonly bytes: number;
  readonly title: string | null;
  /** Null where it is no text. */
  readonly text: string | null;
}

/** Fetches pages from hosts that a workspace reaches, as text. */
@Injectable()
export class WebPages {
  constructor(
    private readonly config: Config,
    private readonly outgoing: GuardedFetch,
    private readonly egress: EgressStore,
    private readonly workers: Workers,
  ) {}

  /** Throws Invalid for an address that is none, and Conflict for one that cannot be fetched from here, with the reason. */
  async fetch(workspaceId: string, address: string, signal: AbortSignal): Promise<WebPage> {
    let url = urlOf(address);
    const hosts = await this.egress.reachableFrom(workspaceId);
    this.requireReachable(url, hosts);
    for (let hops = 0; ; hops++) {
      const response = await this.get(url, signal);
      const location = REDIRECTS.includes(response.status) ? response.headers.get('location') : null;
      if (location === null) return this.pageOf(url, response);
      await response.body?.cancel();
      const next = URL.parse(location, url.href);
      if (!next) throw new Conflict(`${url.href} redirects to what is no address`);
      if (next.hostname !== url.hostname)
        throw new Conflict(
          `${url.href} redirects to another host, ${next.href}: fetch that if it is what you want`,
        );
      this.requireReachable(next, hosts);
      if (hops >= MAX_REDIRECTS) throw new Conflict(`${address} redirects more than ${MAX_REDIRECTS} times`);
      url = next;
    }
  }

  private requireReachable(url: URL, hosts: readonly string[]): void {
    const isListed = this.config.outgoingPrivateHosts?.lists(url) ?? false;
    if (url.port !== '' && !isListed)
      throw new Conflict(`Port ${url.port} of ${url.hostname} cannot be reached from here, only 80 and 443`);
    if (hosts.length === 0)
      throw new Conflict(
        'This workspace reaches no hosts; an admin of the workspace lists those that it may reach',
      );
    if (!new AllowList(hosts).allows(normalizeHost(url.hostname.replace(/^\[|\]$/g, ''))))
      throw new Conflict(
        `${url.hostname} is not among the hosts that this workspace reaches: ${shown(hosts)}. An admin of the workspace can add it`,
      );
  }

  private async get(url: URL, signal: AbortSignal): Promise<Response> {
    const headers = { accept: ACCEPT, 'user-agent': 'Atelier' };
    const limits = { timeoutMs: FETCH_MS, maxBytes: MAX_BYTES };
    return failing(url, () => this.outgoing.fetch(url, { headers, signal, redirect: 'manual', ...limits }));
  }

  private async pageOf(url: URL, response: Response): Promise<WebPage> {
    const body = await failing(url, async () => Buffer.from(await response.arrayBuffer()));
    const { mediaType, charset } = typeOf(response.headers.get('content-type'), body);
    const found = { url: url.href, status: response.status, mediaType, bytes: body.length, title: null };
    if (IS_HTML.test(mediaType)) return { ...found, ...(await this.read(url, decoded(body, charset))) };
    return { ...found, text: IS_TEXT.test(mediaType) ? decoded(body, charset) : null };
  }

  private async read(url: URL, html: string): Promise<Pick<WebPage, 'title' | 'text'>> {
    const page: HtmlPage = { html, base: url.href };
    try {
      const { title, markdown } = await this.workers.run<MarkdownPage>(CONVERT, page, CONVERT_MS);
      return { title, text: markdown };
    } catch (error) {
      if (!(error instanceof TookTooLong)) throw error;
      throw new Conflict(`${url.href} is a page whose text cannot be taken out in time`);
    }
  }
}

function urlOf(address: string): URL {
  const url = URL.parse(address);
  if (!url || !/^https?:$/.test(url.protocol))
    throw new Invalid('url must be a whole address that begins with https:// or http://');
  if (url.username || url.password) throw new Invalid('url must have no user name and no password in it');
  return url;
}

const MAX_HOSTS = 30;

function shown(hosts: readonly string[]): string {
  const more = hosts.length - MAX_HOSTS;
  return `${hosts.slice(0, MAX_HOSTS).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** What keeps an address from being fetched is told; what is wrong on our side is thrown. */
async function failing<T>(url: URL, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof GuardedFetchError)
      throw new Conflict(
        error.refusal === 'size'
          ? `${url.href} has more than ${MAX_BYTES / 1024 / 1024} MiB; fetch it to a file with bash`
          : `${url.href} cannot be fetched: ${error.message}`,
      );
    const code = (error as { cause?: { code?: string } }).cause?.code;
    if (code === undefined) throw error;
    throw new Conflict(`${url.href} cannot be fetched: ${code}`);
  }
}

/** What its server says that it is; without that, what it looks like. */
function typeOf(header: string | null, body: Buffer): { mediaType: string; charset: string } {
  const [mediaType = '', ...parameters] = (header ?? '').toLowerCase().split(';');
  const charset = /charset\s*=\s*"?([\w.:-]{1,40})/.exec(parameters.join(';'))?.[1] ?? 'utf-8';
  if (mediaType.trim() !== '') return { mediaType: mediaType.trim(), charset };
  const isText = isUtf8(body) && !body.subarray(0, 4096).includes(0);
  return { mediaType: isText ? 'text/plain' : 'application/octet-stream', charset };
}

function decoded(body: Buffer, charset: string): string {
  try {
    return new TextDecoder(charset).decode(body);
  } catch {
    // Nobody knows such a charset.
    return body.toString();
  }
}
